//! The modules of the tree, and the selection of embedded code for a device.

use crate::code::packed::Packed;
use crate::code::table::PACKED;
use crate::code::target::Target;
use isobit_hal::Result;
use std::borrow::Cow;

/// One module of the tree.
#[derive(Debug)]
pub struct Image {
    /// The module's name.
    pub name: &'static str,
    /// The translation unit over the embedded sources that is compiled if no packed code fits.
    pub text: &'static str,
    /// An architecture, and the variant of it for which this module is compiled instead.
    pub variant: Option<[&'static str; 2]>,
}

impl Image {
    /// Unpacks the code that fits a device. For NVIDIA this is the code of the newest `sm_` that is
    /// not newer than the card, for AMD the code of the same `gfx`. Returns `None` if this build
    /// contains none.
    ///
    /// # Errors
    /// Returns an error if the code in this program is damaged.
    pub fn unpack(&self, target: Target, arch: &str) -> Result<Option<Vec<u8>>> {
        self.fitting(target, arch).map_or(Ok(None), |packed| packed.module(self.name))
    }

    /// Returns the architecture whose code a device loads; `None` if this build contains none for
    /// it.
    pub(crate) fn packed_arch(&self, target: Target, arch: &str) -> Option<&'static str> {
        self.fitting(target, arch).map(|packed| packed.arch)
    }

    fn fitting(&self, target: Target, arch: &str) -> Option<&'static Packed> {
        let packed: Vec<_> = self.packed(target).collect();
        let archs: Vec<_> = packed.iter().map(|packed| packed.arch).collect();
        choose(target, arch, &archs).map(|i| packed[i])
    }

    /// Same as [`unpack`](Self::unpack), but also returns `None` if the code is damaged.
    pub fn code_for(&self, target: Target, arch: &str) -> Option<Vec<u8>> {
        self.unpack(target, arch).ok().flatten()
    }

    /// Returns the architectures that are packed for a target.
    pub fn archs(&self, target: Target) -> Vec<Cow<'static, str>> {
        self.packed(target).map(|packed| Cow::Borrowed(packed.arch)).collect()
    }

    fn packed(&self, target: Target) -> impl Iterator<Item = &'static Packed> {
        PACKED.iter().filter(move |packed| packed.target == target && packed.has(self.name))
    }
}

/// Returns the index of the architecture whose code fits a device.
fn choose(target: Target, arch: &str, packed: &[&str]) -> Option<usize> {
    let mut positions = 0..packed.len();
    match target {
        Target::Nvptx => {
            let card = sm_number(arch)?;
            let fitting = positions.filter_map(|i| Some((sm_number(packed[i])?, i))).filter(|&(sm, _)| sm <= card);
            fitting.max().map(|(_, i)| i)
        }
        Target::Amdgcn => positions.find(|&i| packed[i] == gfx_base(arch)),
    }
}

/// Returns 90 for `sm_90`.
pub(crate) fn sm_number(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.parse().ok()
}

/// Returns `gfx90a` for `gfx90a:sramecc+:xnack-`.
pub(crate) fn gfx_base(arch: &str) -> &str {
    arch.split(':').next().unwrap_or(arch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::target::Code;

    #[test]
    fn nvidia_takes_the_newest_not_newer_and_amd_its_own() {
        let archs = ["sm_90", "sm_75", "sm_80", "sm_100"];
        let get = |card| choose(Target::Nvptx, card, &archs).map(|i| archs[i]);
        assert_eq!(get("sm_80"), Some("sm_80"));
        assert_eq!(get("sm_86"), Some("sm_80"));
        assert_eq!(get("sm_90"), Some("sm_90"));
        assert_eq!(get("sm_120"), Some("sm_100"));
        assert_eq!(get("sm_70"), None);
        assert_eq!(get("gfx90a"), None);
        let archs = ["gfx90a", "gfx1100"];
        let get = |card| choose(Target::Amdgcn, card, &archs).map(|i| archs[i]);
        assert_eq!(get("gfx90a:sramecc+:xnack-"), Some("gfx90a"));
        assert_eq!(get("gfx1100"), Some("gfx1100"));
        assert_eq!(get("gfx942"), None);
        assert_eq!(choose(Target::Amdgcn, "gfx90a", &[]), None);
    }

    #[test]
    fn code_is_unpacked_for_every_architecture_and_text_ends_with_a_nul() {
        for image in crate::code::table::IMAGES {
            for target in [Target::Nvptx, Target::Amdgcn] {
                for arch in image.archs(target) {
                    let code = image.unpack(target, &arch).unwrap().expect("it says that it has this");
                    match Code::compiled(target, &code) {
                        Code::Ptx(text) => assert_eq!(text.iter().position(|&b| b == 0), Some(text.len() - 1)),
                        Code::Object(object) => assert!(object.starts_with(b"\x7fELF")),
                    }
                }
            }
        }
    }
}
