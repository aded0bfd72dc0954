//! Sentences of one step, filled up to the longest.

use anyhow::{Result, ensure};

/// Ids of sentences side by side, as a model takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The ids, a row of [`tokens`](Self::tokens) for each sentence.
    pub ids: Vec<u32>,
    /// How many of a row are the sentence's own.
    pub lengths: Vec<usize>,
    /// The length of a row: that of the longest sentence.
    pub tokens: usize,
}

impl Batch {
    /// Rows for the sentences, filled up with `padding`.
    ///
    /// # Errors
    /// There is no sentence, or one without a token.
    pub fn new(sentences: &[Vec<u32>], padding: u32) -> Result<Self> {
        let tokens = sentences.iter().map(Vec::len).max().unwrap_or(0);
        ensure!(sentences.iter().all(|s| !s.is_empty()) && tokens > 0, "a batch needs sentences of one token at least");
        let mut ids = Vec::with_capacity(sentences.len() * tokens);
        for sentence in sentences {
            ids.extend(sentence);
            ids.extend(std::iter::repeat_n(padding, tokens - sentence.len()));
        }
        Ok(Self { ids, lengths: sentences.iter().map(Vec::len).collect(), tokens })
    }

    /// How many sentences there are.
    pub fn sentences(&self) -> usize {
        self.lengths.len()
    }

    /// Whether some sentence is shorter than the longest.
    pub fn is_padded(&self) -> bool {
        self.lengths.iter().any(|&length| length < self.tokens)
    }

    /// A value for each place: one for tokens of a sentence of some length, one for what fills it
    /// up.
    pub(crate) fn places(&self, own: impl Fn(usize) -> f32, padding: f32) -> Vec<f32> {
        let row = |&length: &usize| (0..self.tokens).map(move |place| (place < length, length));
        let place = |(is_own, length)| if is_own { own(length) } else { padding };
        self.lengths.iter().flat_map(row).map(place).collect()
    }
}
