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

    /// Returns the weight of each position in the mean of its sentence: 0 for padding.
    pub(crate) fn shares(&self) -> Vec<f32> {
        let share = |place, length| if place < length { 1.0 / length as f32 } else { 0.0 };
        self.lengths.iter().flat_map(|&length| (0..self.tokens).map(move |place| share(place, length))).collect()
    }
}
