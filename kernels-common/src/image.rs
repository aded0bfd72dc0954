//! Compiled code as it is packed into the binary, and the choice of what fits a device.

use std::borrow::Cow;

/// Which vendor's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX, which NVIDIA's driver compiles for the card; code for one `sm_` runs on that and every later one.
    Nvptx,
    /// AMD code objects, each for one `gfx` alone.
    Amdgcn,
}

/// Code that a driver can load.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    /// PTX text, NUL-terminated.
    Ptx(&'a [u8]),
    /// An ELF code object.
    Object(&'a [u8]),
}

impl<'a> Code<'a> {
    /// Code as a build packs it and a run-time compiler gives it: machine code is an ELF file, PTX is text.
    pub fn compiled(target: Target, code: &'a [u8]) -> Self {
        match target {
            Target::Nvptx if !code.starts_with(b"\x7fELF") => Code::Ptx(code),
            Target::Nvptx | Target::Amdgcn => Code::Object(code),
        }
    }
}

/// One module of the tree in every form it was packed in.
#[derive(Debug)]
pub struct Image {
    /// The module's name.
    pub name: &'static str,
    /// What is compiled where nothing below fits: a translation unit over the embedded sources.
    pub text: &'static str,
    /// Target, architecture and zstd-packed code.
    pub code: &'static [(Target, &'static str, &'static [u8])],
}

impl Image {
    /// The packed code that fits a device, unpacked: for NVIDIA the newest `sm_` that is not newer than the card, for AMD the same `gfx`.
    pub fn code_for(&self, target: Target, arch: &str) -> Option<Vec<u8>> {
        let mine = self.code.iter().filter(|(t, ..)| *t == target);
        let packed = match target {
            Target::Nvptx => {
                let card = sm_number(arch)?;
                mine.filter_map(|(_, a, code)| Some((sm_number(a)?, code)))
                    .filter(|&(sm, _)| sm <= card)
                    .max_by_key(|&(sm, _)| sm)
                    .map(|(_, code)| code)
            }
            Target::Amdgcn => mine.into_iter().find(|(_, a, _)| *a == gfx_base(arch)).map(|(_, _, code)| code),
        }?;
        zstd::decode_all(*packed).ok()
    }

    /// The architectures packed for a target, for messages.
    pub fn archs(&self, target: Target) -> Vec<Cow<'static, str>> {
        self.code.iter().filter(|(t, ..)| *t == target).map(|(_, a, _)| Cow::Borrowed(*a)).collect()
    }
}

fn sm_number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.parse().ok()
}

fn gfx_base(arch: &str) -> &str {
    arch.split(':').next().unwrap_or(arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvidia_takes_the_newest_not_newer_and_amd_its_own() {
        let pack = |s: &str| -> &'static [u8] { zstd::encode_all(s.as_bytes(), 1).unwrap().leak() };
        let code: &'static [_] = vec![
            (Target::Nvptx, "sm_75", pack("75")),
            (Target::Nvptx, "sm_80", pack("80")),
            (Target::Nvptx, "sm_90", pack("90")),
            (Target::Amdgcn, "gfx90a", pack("90a")),
        ]
        .leak();
        let image = Image { name: "m", text: "", code };
        let get = |t, a| image.code_for(t, a).map(|c| String::from_utf8(c).unwrap());
        assert_eq!(get(Target::Nvptx, "sm_86").as_deref(), Some("80"));
        assert_eq!(get(Target::Nvptx, "sm_120").as_deref(), Some("90"));
        assert_eq!(get(Target::Nvptx, "sm_70"), None);
        assert_eq!(get(Target::Amdgcn, "gfx90a:sramecc+:xnack-").as_deref(), Some("90a"));
        assert_eq!(get(Target::Amdgcn, "gfx942"), None);
    }
}
