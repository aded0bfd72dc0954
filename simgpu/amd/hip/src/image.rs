//! Determines the size of an image that a C caller passes as a pointer without a length.

use crate::error::{Result, bail};
use object::elf::{FileHeader64, ProgramHeader64, SHT_NOBITS, SectionHeader64};
use object::{LittleEndian, Pod, pod};
use std::ffi::c_void;

const BUNDLE: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
const ELF: &[u8; 4] = b"\x7fELF";

/// Returns the bytes of an ELF file or a bundle of code objects in memory. Its own tables determine
/// where it ends.
///
/// # Safety
/// `image` is null or points to a complete image, which outlives the result.
pub(crate) unsafe fn bytes<'a>(image: *const c_void) -> Result<&'a [u8]> {
    if image.is_null() {
        bail!(INVALID_VALUE, "the image is null");
    }
    let image = image.cast::<u8>();
    // SAFETY: every image has at least the four bytes of its magic number, and the other bytes are
    // read only after it was found.
    let end = unsafe {
        if slice(image, 0, ELF.len()) == ELF {
            elf_end(image)
        } else if slice(image, 0, ELF.len()) == &BUNDLE[..ELF.len()] && slice(image, 0, BUNDLE.len()) == BUNDLE {
            bundle_end(image)
        } else {
            bail!(INVALID_IMAGE, "the image is neither an ELF file nor an uncompressed bundle of code objects");
        }
    };
    match end {
        // SAFETY: the image's own tables say that it has this number of bytes.
        Some(end) if isize::try_from(end).is_ok() => Ok(unsafe { slice(image, 0, end) }),
        _ => bail!(INVALID_IMAGE, "the tables of the image refer to bytes outside the address space"),
    }
}

/// # Safety
/// The image has `bytes` bytes at `at`.
unsafe fn slice<'a>(image: *const u8, at: usize, bytes: usize) -> &'a [u8] {
    // SAFETY: the caller promises that the image has `bytes` bytes at `at`.
    unsafe { std::slice::from_raw_parts(image.add(at), bytes) }
}

/// # Safety
/// The image has a structure of this type at `at`.
unsafe fn read<T: Pod + Copy>(image: *const u8, at: usize) -> Option<T> {
    // SAFETY: as the caller promises; bytes have no alignment requirement.
    let bytes = unsafe { slice(image, at, size_of::<T>()) };
    let mut aligned = vec![0u64; size_of::<T>().div_ceil(8)];
    let copy = pod::bytes_of_slice_mut(&mut aligned);
    copy[..bytes.len()].copy_from_slice(bytes);
    pod::from_bytes::<T>(copy).ok().map(|(value, _)| *value)
}

/// # Safety
/// The image is an ELF file.
unsafe fn elf_end(image: *const u8) -> Option<usize> {
    // SAFETY: an ELF file begins with its header, which locates the other headers.
    unsafe {
        let header: FileHeader64<LittleEndian> = read(image, 0)?;
        let e = LittleEndian;
        let (segments, sections) = (header.e_phoff.get(e), header.e_shoff.get(e));
        let segment_step = u64::from(header.e_phentsize.get(e));
        let section_step = u64::from(header.e_shentsize.get(e));
        let mut end = u64::from(header.e_ehsize.get(e));
        for index in 0..u64::from(header.e_phnum.get(e)) {
            let at = segments.checked_add(index * segment_step)?;
            let segment: ProgramHeader64<LittleEndian> = read(image, at.try_into().ok()?)?;
            end = end.max(at + segment_step).max(segment.p_offset.get(e).checked_add(segment.p_filesz.get(e))?);
        }
        // Without an offset there is no table of sections, whatever their number is.
        let count = if sections == 0 { 0 } else { header.e_shnum.get(e) };
        for index in 0..u64::from(count) {
            let at = sections.checked_add(index * section_step)?;
            let section: SectionHeader64<LittleEndian> = read(image, at.try_into().ok()?)?;
            end = end.max(at + section_step);
            if section.sh_type.get(e) != SHT_NOBITS {
                end = end.max(section.sh_offset.get(e).checked_add(section.sh_size.get(e))?);
            }
        }
        end.try_into().ok()
    }
}

/// # Safety
/// The image is a bundle.
unsafe fn bundle_end(image: *const u8) -> Option<usize> {
    // SAFETY: a bundle begins with a list of its entries: offset, size, length of the name, and the
    // name.
    unsafe {
        let number =
            |at: usize| -> Option<usize> { u64::from_le_bytes(slice(image, at, 8).try_into().ok()?).try_into().ok() };
        let entries = number(BUNDLE.len())?;
        let mut at = BUNDLE.len() + 8;
        let mut end = at;
        for _ in 0..entries {
            end = end.max(number(at)?.checked_add(number(at + 8)?)?);
            at = at.checked_add(24)?.checked_add(number(at + 16)?)?;
        }
        Some(end.max(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    /// Returns a bundle with one entry of `code` bytes after its list.
    fn bundle(name: &[u8], code: &[u8]) -> Vec<u8> {
        let mut image = BUNDLE.to_vec();
        image.extend(1u64.to_le_bytes());
        let at = image.len() + 24 + name.len();
        for number in [at, code.len(), name.len()] {
            image.extend((number as u64).to_le_bytes());
        }
        image.extend(name);
        image.extend(code);
        image
    }

    #[test]
    fn an_image_is_as_long_as_its_tables_say() {
        let mut image = bundle(b"hipv4-amdgcn-amd-amdhsa--gfx90a", &[7; 100]);
        let length = image.len();
        image.extend([1; 50]);
        // SAFETY: the vector outlives the slice.
        let found = unsafe { bytes(image.as_ptr().cast()) }.unwrap();
        assert_eq!(found.len(), length);

        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: as above; the test's own program is an ELF file.
        let found = unsafe { bytes(me.as_ptr().cast()) }.unwrap();
        assert!(found.len() <= me.len() && found.len() + 4096 > me.len(), "{} of {}", found.len(), me.len());
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let code = |image: *const u8| {
            // SAFETY: the pointer is null, or the bytes outlive the call.
            unsafe { bytes(image.cast()) }.map(<[u8]>::len).map_err(|error| error.code)
        };
        assert_eq!(code(std::ptr::null()), Err(Code::INVALID_VALUE));
        assert_eq!(code(b"CCOB compressed".as_ptr()), Err(Code::INVALID_IMAGE));
        let mut endless = bundle(b"", &[]);
        endless[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(code(endless.as_ptr()), Err(Code::INVALID_IMAGE));
    }
}
