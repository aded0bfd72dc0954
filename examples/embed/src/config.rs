//! The architecture from the model's folder, checked to be the one that this example implements.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Sizes and constants of the model, with the names in its `config.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Number of tokens in the vocabulary.
    pub vocab_size: usize,
    /// Size of a token's vector between layers.
    pub hidden_size: usize,
    /// Number of encoder layers.
    pub num_hidden_layers: usize,
    /// Number of attention heads per layer.
    pub num_attention_heads: usize,
    /// Size of a token's vector inside a feed-forward network.
    pub intermediate_size: usize,
    /// Number of position embeddings.
    pub max_position_embeddings: usize,
    /// Number of token type embeddings: for the first and the second sentence of a pair.
    pub type_vocab_size: usize,
    /// The epsilon of layer norms.
    pub layer_norm_eps: f64,
    /// The padding token.
    pub pad_token_id: u32,
    /// Maximum number of tokens of a sentence, including the special tokens at its start and end;
    /// the rest is truncated.
    #[serde(skip)]
    pub max_tokens: usize,
    hidden_act: String,
    position_embedding_type: String,
}

/// `sentence_bert_config.json`.
#[derive(Deserialize)]
struct Sentences {
    max_seq_length: usize,
}

/// `1_Pooling/config.json`.
#[derive(Deserialize)]
struct Pooling {
    pooling_mode_mean_tokens: bool,
}

impl Config {
    /// Reads the configuration of a model's folder.
    ///
    /// # Errors
    /// Fails if a file is missing or invalid, or describes a different architecture.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut config: Config = read(&folder.join("config.json"))?;
        let Sentences { max_seq_length } = read(&folder.join("sentence_bert_config.json"))?;
        let Pooling { pooling_mode_mean_tokens } = read(&folder.join("1_Pooling/config.json"))?;
        config.max_tokens = max_seq_length.min(config.max_position_embeddings);
        let has = |what: &str, found: &str, known: &str| {
            ensure!(found == known, "{}: {what} is {found}, and this example computes {known}", folder.display());
            Ok(())
        };
        has("the activation", &config.hidden_act, "gelu")?;
        has("the kind of position", &config.position_embedding_type, "absolute")?;
        ensure!(pooling_mode_mean_tokens, "{}: this example pools by the mean of the tokens", folder.display());
        let (hidden, heads) = (config.hidden_size, config.num_attention_heads);
        ensure!(heads > 0 && hidden.is_multiple_of(heads), "{hidden} elements cannot be divided among {heads} heads");
        Ok(config)
    }

    /// Returns the size of a token's vector in one attention head.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot parse {}", path.display()))
}
