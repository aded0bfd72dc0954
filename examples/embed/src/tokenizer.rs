//! Converts sentences to tokens with the model's tokenizer.

use crate::Config;
use anyhow::{Error, Result, anyhow};
use std::path::Path;
use tokenizers::TruncationParams;

/// The model's tokenizer.
#[derive(Debug)]
pub struct Tokenizer(tokenizers::Tokenizer);

impl Tokenizer {
    /// Reads `tokenizer.json` of a model's folder.
    ///
    /// # Errors
    /// Fails if the file is missing or invalid.
    pub fn load(folder: &Path, config: &Config) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let read = tokenizers::Tokenizer::from_file(&path);
        let mut tokenizer = read.map_err(|e| failed(e).context(format!("cannot read {}", path.display())))?;
        // The limits in the file are for training. `Batch` pads sentences to the longest.
        let truncation = TruncationParams { max_length: config.max_tokens, ..Default::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(failed)?;
        tokenizer.with_padding(None);
        Ok(Self(tokenizer))
    }

    /// Returns the ids of a sentence's tokens, with the special tokens at its start and end,
    /// truncated to the model's maximum.
    ///
    /// # Errors
    /// Returns the errors of the tokenizer.
    pub fn encode(&self, sentence: &str) -> Result<Vec<u32>> {
        Ok(self.0.encode_fast(sentence, true).map_err(failed)?.get_ids().to_vec())
    }
}

fn failed(e: tokenizers::Error) -> Error {
    anyhow!(e)
}
