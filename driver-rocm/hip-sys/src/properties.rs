//! The location of a device's architecture name.
//!
//! No attribute contains the name (`hipDeviceAttributeGcnArch` was a number, and ROCm 7.1 removed
//! it); only `hipDeviceProp_t` does. Its layout changed once: ROCm 6 added the symbol
//! `hipGetDevicePropertiesR0600` for the new layout and kept `hipGetDeviceProperties` for the old
//! one (R0000), so the symbol identifies the layout. The struct is therefore opaque here: a caller
//! passes a buffer larger than that of any release, and reads the one field at its offset. `cargo
//! xtask bindings --check` compares size and offset with those of the installed headers; the
//! official headers of ROCm 5.0, 5.7, 6.0, 6.2 and 7 agree with these.
//! <https://rocm.docs.amd.com/projects/HIP/en/latest/doxygen/html/structhip_device_prop__t.html>

/// `hipDeviceProp_t` of ROCm 5, kept in ROCm 6 under this name.
#[repr(C)]
#[derive(Debug)]
pub struct hipDeviceProp_tR0000 {
    _opaque: [u8; 0],
}

/// `hipDeviceProp_t` of ROCm 6 and 7.
#[repr(C)]
#[derive(Debug)]
pub struct hipDeviceProp_tR0600 {
    _opaque: [u8; 0],
}

/// A buffer size for the struct of any release, with the same amount again for what later releases
/// append.
pub const PROPERTIES_BYTES: usize = 4096;

/// The known part of one layout of `hipDeviceProp_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PropertiesLayout {
    /// The size of the whole struct in bytes.
    pub size: usize,
    /// The offset of `gcnArchName`, which has 256 bytes.
    pub arch_name: usize,
}

/// The layout that `hipGetDeviceProperties` fills.
pub const R0000: PropertiesLayout = PropertiesLayout { size: 792, arch_name: 396 };

/// The layout that `hipGetDevicePropertiesR0600` fills.
pub const R0600: PropertiesLayout = PropertiesLayout { size: 1472, arch_name: 1160 };

impl PropertiesLayout {
    /// Returns the architecture name in a filled buffer, with its features:
    /// `gfx90a:sramecc+:xnack-`. Returns `None` if there is no such name.
    pub fn arch_name_in(self, buffer: &[u8; PROPERTIES_BYTES]) -> Option<&str> {
        let field = &buffer[self.arch_name..self.arch_name + 256];
        let end = field.iter().position(|&b| b == 0)?;
        let name = std::str::from_utf8(&field[..end]).ok()?;
        let (gfx, features) = name.split_once(':').unwrap_or((name, "x+"));
        let number = gfx.strip_prefix("gfx")?;
        let is_name = !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_hexdigit())
            && features.split(':').all(|f| f.ends_with(['+', '-']) && f.len() > 1);
        is_name.then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(layout: PropertiesLayout, name: &[u8]) -> [u8; PROPERTIES_BYTES] {
        let mut buffer = [0; PROPERTIES_BYTES];
        buffer[layout.arch_name..layout.arch_name + name.len()].copy_from_slice(name);
        buffer
    }

    #[test]
    fn names_are_read_where_they_are_and_nothing_else_is_taken_for_one() {
        for name in ["gfx90a:sramecc+:xnack-", "gfx1100", "gfx942:sramecc+:xnack-"] {
            assert_eq!(R0600.arch_name_in(&with(R0600, name.as_bytes())), Some(name));
            assert_eq!(R0000.arch_name_in(&with(R0000, name.as_bytes())), Some(name));
            assert_eq!(R0000.arch_name_in(&with(R0600, name.as_bytes())), None);
        }
        for other in ["", "gfx", "sm_90", "gfx90a:", "gfx90a:sramecc", "gfxyz", "AMD Instinct"] {
            assert_eq!(R0600.arch_name_in(&with(R0600, other.as_bytes())), None, "{other}");
        }
        assert_eq!(R0600.arch_name_in(&with(R0600, &[b'g'; 256])), None);
    }
}
