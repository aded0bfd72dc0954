//! The first layer, which converts ids to vectors.

use crate::layers::LayerNorm;
use crate::weights::Weights;
use crate::{Config, Workspace};
use anyhow::Result;
use isobit::{BackendStorage, BinaryOp, DType, Layout, Op, Result as DeviceResult, Src};
use isobit_examples::memory::upload;

/// Embeddings of tokens and of their positions.
#[derive(Debug)]
pub struct Embeddings<S> {
    words: S,
    /// Position embeddings plus the token type embedding: a single sentence has only one token
    /// type.
    places: S,
    norm: LayerNorm<S>,
    sizes: [usize; 2],
}

impl<S: BackendStorage> Embeddings<S> {
    /// Loads the embeddings.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(device: &S::Device, weights: &Weights<'_>, config: &Config, dtype: DType) -> Result<Self> {
        let (words, hidden) = (config.vocab_size, config.hidden_size);
        let table = |of: &str, rows| weights.get(&format!("embeddings.{of}_embeddings.weight"), &[rows, hidden]);
        let kinds = table("token_type", config.type_vocab_size)?;
        let mut places = table("position", config.max_position_embeddings)?;
        for place in places.chunks_exact_mut(hidden) {
            place.iter_mut().zip(&kinds[..hidden]).for_each(|(element, kind)| *element += kind);
        }
        Ok(Self {
            words: upload(device, &table("word", words)?, dtype)?,
            places: upload(device, &places, dtype)?,
            norm: LayerNorm::load(device, weights, "embeddings.LayerNorm", hidden, config.layer_norm_eps, dtype)?,
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
        S::apply_into(&Op::IndexSelect { dim: 0 }, &inputs, &mut w.sum, &Layout::contiguous([rows, hidden]))?;

        let vectors = Layout::contiguous([w.sentences, w.tokens, hidden]);
        let places = Layout::contiguous([w.tokens, hidden]).broadcast_as(vectors.shape())?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (&self.places, &places).into(), &mut w.sum, &vectors)?;
        self.norm.forward(&w.sum, &mut w.hidden, rows)
    }
}
