//! Selects a code object from a fat binary in the format of clang-offload-bundler, a list of
//! objects by target identifier.

use super::LoadError;
use crate::isa::Arch;

/// The magic bytes at the start of a bundle.
pub const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";

/// Returns the object of `image` that matches a target, or the image itself if it is not a bundle.
pub fn choose(arch: Arch, image: &[u8]) -> Result<&[u8], LoadError> {
    if image.starts_with(COMPRESSED) {
        return Err(LoadError::Unsupported("a compressed bundle (compile with --no-offload-compress)".into()));
    }
    let Some(rest) = image.strip_prefix(MAGIC) else { return Ok(image) };
    let mut reader = Reader(rest);
    let mut found = Vec::new();
    let (mut best, mut best_features) = (None, 0);
    for _ in 0..reader.number()? {
        let (offset, size, length) = (reader.number()?, reader.number()?, reader.number()?);
        let id = reader.take(length)?;
        let id = std::str::from_utf8(id)
            .map_err(|_| LoadError::Invalid("a bundle entry's name is not valid text".into()))?;
        let Some(target) = id.split_once("amdgcn-amd-amdhsa--").map(|(_, target)| target) else { continue };
        found.push(target.to_string());
        let features = target.matches(':').count();
        if fits(arch, target) && (best.is_none() || features > best_features) {
            let end = offset.checked_add(size).filter(|&end| end <= image.len());
            let end = end.ok_or_else(|| LoadError::Invalid(format!("the bundle ends before its code for {target}")))?;
            (best, best_features) = (Some(&image[offset..end]), features);
        }
    }
    best.ok_or_else(|| LoadError::NoCode { wanted: arch.target_id().into(), found })
}

/// Whether code for `target`, such as `gfx90a:xnack-`, runs on the card. A feature that the target
/// does not name may have either setting.
pub(super) fn fits(arch: Arch, target: &str) -> bool {
    let mut parts = target.split(':');
    let mut card = arch.target_id().split(':');
    parts.next() == card.next() && parts.all(|feature| arch.target_id().split(':').any(|have| have == feature))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], LoadError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or_else(|| LoadError::Invalid("the bundle's list is cut off".into()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, LoadError> {
        let bytes = self.take(8)?.try_into().expect("eight bytes were taken");
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| LoadError::Invalid("a number out of range".into()))
    }
}
