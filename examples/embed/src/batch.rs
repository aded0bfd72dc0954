//! The sentences of one step, padded to the longest.

use anyhow::{Result, ensure};

/// The token ids of several sentences, as the model's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The ids, one row of [`tokens`](Self::tokens) per sentence.
    pub ids: Vec<u32>,
    /// The number of tokens of each sentence, without padding.
    pub lengths: Vec<usize>,
    /// The length of a row: that of the longest sentence.
    pub tokens: usize,
}

impl Batch {
    /// Creates a batch of the sentences, padded with `padding`.
    ///
    /// # Errors
    /// Fails if there is no sentence, or one without tokens.
    pub fn new(sentences: &[Vec<u32>], padding: u32) -> Result<Self> {
        let tokens = sentences.iter().map(Vec::len).max().unwrap_or(0);
        ensure!(sentences.iter().all(|s| !s.is_empty()) && tokens > 0, "a batch needs sentences of at least one token");
        let mut ids = Vec::with_capacity(sentences.len() * tokens);
        for sentence in sentences {
            ids.extend(sentence);
            ids.extend(std::iter::repeat_n(padding, tokens - sentence.len()));
        }
        Ok(Self { ids, lengths: sentences.iter().map(Vec::len).collect(), tokens })
    }

    /// Returns the number of sentences.
    pub fn sentences(&self) -> usize {
        self.lengths.len()
    }

    /// Whether some sentence is shorter than the longest.
    pub fn is_padded(&self) -> bool {
        self.lengths.iter().any(|&length| length < self.tokens)
    }

    /// Returns a value per position: `own(length)` for the tokens of a sentence, `padding` for
    /// padding.
    pub(crate) fn places(&self, own: impl Fn(usize) -> f32, padding: f32) -> Vec<f32> {
        let row = |&length: &usize| (0..self.tokens).map(move |place| (place < length, length));
        let place = |(is_own, length)| if is_own { own(length) } else { padding };
        self.lengths.iter().flat_map(row).map(place).collect()
    }
}
