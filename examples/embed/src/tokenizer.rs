//! Sentences into tokens, by the tokenizer that the model was trained with.

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
    /// The file is missing or not understood.
    pub fn load(folder: &Path, config: &Config) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let read = tokenizers::Tokenizer::from_file(&path);
        let mut tokenizer = read.map_err(|e| failed(e).context(format!("cannot read {}", path.display())))?;
        // The file's own limits are those of training. Sentences are padded in `Batch`, to the
        // longest among them.
        let truncation = TruncationParams { max_length: config.max_tokens, ..Default::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(failed)?;
        tokenizer.with_padding(None);
        Ok(Self(tokenizer))
    }

    /// The ids of a sentence's tokens, with the marks of its beginning and its end; cut to the
    /// longest that the model looks at.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn encode(&self, sentence: &str) -> Result<Vec<u32>> {
        Ok(self.0.encode_fast(sentence, true).map_err(failed)?.get_ids().to_vec())
    }
}

fn failed(e: tokenizers::Error) -> Error {
    anyhow!(e)
}
