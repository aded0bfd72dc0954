//! What a program hands out: a digest of all bits, and a file with everything.

use anyhow::{Context, Result};
use serde::Serialize;
use std::path::Path;

/// Returns the BLAKE3 digest of words, in hexadecimal: two runs with the same digest agree to the
/// last bit.
pub fn digest(words: impl IntoIterator<Item = u32>) -> String {
    let mut hasher = blake3::Hasher::new();
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Writes a report as a JSON file.
///
/// # Errors
/// Fails if it cannot be written.
pub fn write(report: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_vec(report).context("the report as JSON")?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_the_words_in_their_order() {
        // `printf '\x00\x00\x80\x3f\x00\x00\x00\x80' | b3sum` of 1 and -0.
        let digests = [[1.0, -0.0], [1.0, 0.0], [-0.0, 1.0]].map(|e| digest(e.map(f32::to_bits)));
        assert_eq!(digests[0], "a0ead1d1306f65bc13761aded5ff97bcba6a045d107f7e0578037c266f185234");
        assert!(digests[1] != digests[0] && digests[2] != digests[0]);
    }
}
