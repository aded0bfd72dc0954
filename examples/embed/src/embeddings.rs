//! The first layer, which converts ids to vectors.

use crate::layers::LayerNorm;
use crate::weights::Loader;
use crate::{Config, Workspace};
use anyhow::Result;
use isobit::{BackendStorage, Indexing, Layout, Op, Result as DeviceResult};

/// Embeddings of tokens and of their positions.
#[derive(Debug)]
pub struct Embeddings<S> {
    words: S,
    places: S,
    /// A single sentence has only one token type.
    kind: S,
    norm: LayerNorm<S>,
    sizes: [usize; 2],
}

impl<S: BackendStorage> Embeddings<S> {
    /// Loads the embeddings.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(from: &Loader<'_, S::Device>, config: &Config) -> Result<Self> {
        let (words, hidden) = (config.vocab_size, config.hidden_size);
        let table = |of: &str, rows| from.weights.get(&format!("embeddings.{of}_embeddings.weight"), &[rows, hidden]);
        let kinds = table("token_type", config.type_vocab_size)?;
        Ok(Self {
            words: from.upload(&table("word", words)?)?,
            places: from.upload(&table("position", config.max_position_embeddings)?)?,
            kind: from.upload(&kinds[..hidden])?,
            norm: LayerNorm::load(from, "embeddings.LayerNorm", config)?,
            sizes: [words, hidden],
        })
    }

    /// Computes the hidden state of the workspace from its ids.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> DeviceResult<()> {
        let ([_, hidden], rows) = (self.sizes, w.rows());
        let (table, ids) = (Layout::contiguous(self.sizes), Layout::contiguous(rows));
        let inputs = [(&self.words, &table).into(), (&w.ids, &ids).into()];
        S::apply_into(&Op::IndexSelect(Indexing::new(0)), &inputs, &mut w.sum, &Layout::contiguous([rows, hidden]))?;

        let vectors = Layout::contiguous([w.sentences, w.tokens, hidden]);
        let places = Layout::contiguous([w.tokens, hidden]).broadcast_as(vectors.shape())?;
        self.norm.forward(&w.sum, &self.kind, (&self.places, &places), &mut w.hidden, &vectors)
    }
}
