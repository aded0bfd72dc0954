//! The arguments of `printf` as HIP passes them: one word of eight bytes for a number or a pointer,
//! and strings in place, with their NUL and padded to whole words.

use isobit_simgpu_core::print::{Arguments, Text};

/// Words that are taken one after the other.
#[derive(Debug)]
pub(super) struct Words<'a>(&'a [u64]);

impl<'a> Words<'a> {
    pub(super) fn new(words: &'a [u64]) -> Self {
        Self(words)
    }

    /// Takes a string, without its NUL.
    pub(super) fn string(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some((word, rest)) = self.0.split_first() {
            self.0 = rest;
            let word = word.to_le_bytes();
            match word.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    bytes.extend_from_slice(&word[..end]);
                    break;
                }
                None => bytes.extend_from_slice(&word),
            }
        }
        bytes
    }

    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*word)
    }
}

impl Arguments for Words<'_> {
    // AMD's runtime also ends the text at a conversion without an argument.
    const END_WITHOUT: bool = true;

    fn integer(&mut self, _: bool) -> Option<u64> {
        self.next()
    }

    fn double(&mut self) -> Option<f64> {
        self.next().map(f64::from_bits)
    }

    fn text(&mut self, _: Option<usize>) -> Option<Text> {
        // A null pointer arrives as an empty string.
        (!self.0.is_empty()).then(|| Text::Bytes(self.string()))
    }
}
