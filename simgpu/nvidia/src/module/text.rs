//! The text of an image: a driver accepts PTX that ends with a NUL, and images that are not text.

use super::LoadError;
use std::sync::Arc;

/// The first bytes of other image formats.
const OTHERS: [(&[u8], &str); 3] = [
    (b"\x7fELF", "it is an ELF file: compiled code for one card"),
    (b"\x50\xed\x55\xba", "it is a fat binary"),
    (b"\xb1\x43\x62\x46", "it is the wrapper of a fat binary"),
];

/// Returns the text of an image up to the first NUL.
pub(super) fn text(image: &[u8]) -> Result<&str, LoadError> {
    if let Some((_, what)) = OTHERS.iter().find(|(start, _)| image.starts_with(start)) {
        return Err(LoadError::NotPtx((*what).into()));
    }
    let end = image.iter().position(|byte| *byte == 0).unwrap_or(image.len());
    let text = std::str::from_utf8(&image[..end])
        .map_err(|error| LoadError::NotPtx(format!("byte {} is not text", error.valid_up_to())))?;
    if text.trim().is_empty() {
        return Err(LoadError::NotPtx("it is empty".into()));
    }
    Ok(text)
}

/// Returns the start of each line.
pub(super) fn lines(text: &str) -> Arc<[u32]> {
    let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
    [0].into_iter().chain(after).collect()
}
