//! Choosing a code object from a fat binary: the format of clang-offload-bundler, a list of objects by target identifier.

use super::LoadError;
use crate::isa::Arch;

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";

/// The object of `image` that fits a target: the image itself where it is no bundle.
pub(super) fn choose(arch: Arch, image: &[u8]) -> Result<&[u8], LoadError> {
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
        let id = std::str::from_utf8(id).map_err(|_| LoadError::Invalid("a bundle entry's name is no text".into()))?;
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

/// Does code for `target`, such as `gfx90a:xnack-`, run on the card? A feature that it does not name may be either way.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let list: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
        let mut offset = MAGIC.len() + 8 + list;
        let mut out = [MAGIC, &(entries.len() as u64).to_le_bytes()].concat();
        for (id, code) in entries {
            for n in [offset, code.len(), id.len()] {
                out.extend((n as u64).to_le_bytes());
            }
            out.extend(id.as_bytes());
            offset += code.len();
        }
        entries.iter().for_each(|(_, code)| out.extend(*code));
        out
    }

    #[test]
    fn the_code_that_fits_best_is_chosen() {
        let image = bundle(&[
            ("host-x86_64-unknown-linux", b""),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"any"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"plus"),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"minus"),
            ("hipv4-amdgcn-amd-amdhsa--gfx1030", b"other"),
        ]);
        assert_eq!(choose(Arch::Gfx90a, &image).unwrap(), b"minus");
        let Err(LoadError::NoCode { wanted, found }) = choose(Arch::Gfx1100, &image) else { panic!("it has no code") };
        assert_eq!((wanted.as_str(), found.len()), ("gfx1100", 4));
        for cut in 0..image.len() - 15 {
            assert!(choose(Arch::Gfx90a, &image[..cut]).is_err() || cut < MAGIC.len(), "{cut}");
        }
    }
}
