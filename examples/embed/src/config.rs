//! What the model's folder says of its architecture, checked to be the one that is built here.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Sizes and constants of the model, under the names that its `config.json` has for them.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Tokens that there are.
    pub vocab_size: usize,
    /// Elements of a token's vector between layers.
    pub hidden_size: usize,
    /// Layers of the encoder.
    pub num_hidden_layers: usize,
    /// Attention heads of a layer.
    pub num_attention_heads: usize,
    /// Elements of a token's vector inside a feed-forward network.
    pub intermediate_size: usize,
    /// Positions that have an embedding.
    pub max_position_embeddings: usize,
    /// Kinds of token that have an embedding: the first and the second sentence of a pair.
    pub type_vocab_size: usize,
    /// What keeps the root of a layer norm from 0.
    pub layer_norm_eps: f64,
    /// The token that fills sentences up to the longest of a batch.
    pub pad_token_id: u32,
    /// Tokens of a sentence that are looked at, the marks of its beginning and end among them; the
    /// rest is cut off.
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
    /// A file is missing or not understood, or describes another architecture than this one.
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
        ensure!(heads > 0 && hidden.is_multiple_of(heads), "{hidden} elements cannot be shared by {heads} heads");
        Ok(config)
    }

    /// Elements of a token's vector in one attention head.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not understood", path.display()))
}
