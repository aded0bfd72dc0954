//! All buffers of a step, allocated once for batches of one size.

use crate::{Batch, Config};
use anyhow::{Result, ensure};
use isobit::{BackendDevice, BackendStorage, DType, Layout, Matmul, Result as DeviceResult};
use isobit_examples::memory::{put, read};

/// The inputs, intermediate results and results of a step, for a fixed number of sentences and
/// tokens. New inputs overwrite the previous ones in place, so a captured step can be replayed on
/// them.
#[derive(Debug)]
pub struct Workspace<S: BackendStorage> {
    pub(crate) sentences: usize,
    pub(crate) tokens: usize,
    pub(crate) heads: usize,
    pub(crate) head_size: usize,
    hidden_size: usize,
    /// Every matrix product of a step, with the numerics of the model.
    pub(crate) product: Matmul,
    /// u32 `[sentences * tokens]`.
    pub(crate) ids: S,
    /// u32 `[sentences]`: the number of tokens of each, without padding.
    pub(crate) lengths: S,
    /// `[sentences, tokens]`: the weight of a token in the mean.
    pub(crate) shares: S,
    /// `[sentences, tokens, hidden]`: the state between layers.
    pub(crate) hidden: S,
    /// Like `hidden`: the term that is added to it before the norm.
    pub(crate) sum: S,
    /// Like `hidden`: what it becomes.
    pub(crate) next: S,
    /// `[sentences, tokens, ..]`: results inside a layer that are wider than `hidden`.
    pub(crate) wide: S,
    /// `[sentences, tokens, heads, head_size]`.
    pub(crate) context: S,
    /// `[sentences, hidden]`.
    pub(crate) means: S,
    /// `[sentences, hidden]`, each of length 1.
    pub(crate) embeddings: S,
}

impl<S: BackendStorage> Workspace<S> {
    /// Allocates buffers for a model's dtype and sets the inputs of a batch. The buffers fit this
    /// batch and others of its size. `product` has the numerics of the matrix products.
    ///
    /// # Errors
    /// Returns `OutOfMemory` and other errors of the device. Fails if the sentences are longer than
    /// the model's positions.
    pub fn new(device: &S::Device, config: &Config, dtype: DType, product: Matmul, batch: &Batch) -> Result<Self> {
        let (sentences, tokens, hidden) = (batch.sentences(), batch.tokens, config.hidden_size);
        ensure!(
            tokens <= config.max_position_embeddings,
            "a sentence of {tokens} tokens: the model has positions for {}",
            config.max_position_embeddings
        );
        let rows = sentences * tokens;
        let zeros = |elements: usize| device.zeros(&elements.into(), dtype);
        let mut workspace = Self {
            sentences,
            tokens,
            heads: config.num_attention_heads,
            head_size: config.head_size(),
            hidden_size: hidden,
            product,
            ids: device.zeros(&rows.into(), DType::U32)?,
            lengths: device.zeros(&sentences.into(), DType::U32)?,
            shares: zeros(rows)?,
            hidden: zeros(rows * hidden)?,
            sum: zeros(rows * hidden)?,
            next: zeros(rows * hidden)?,
            wide: zeros(rows * config.intermediate_size.max(3 * hidden))?,
            context: zeros(rows * hidden)?,
            means: zeros(sentences * hidden)?,
            embeddings: zeros(sentences * hidden)?,
        };
        workspace.set(batch)?;
        Ok(workspace)
    }

    /// Replaces the inputs by those of a batch.
    ///
    /// # Errors
    /// Fails if the batch has a different size, or with the errors of the device.
    pub fn set(&mut self, batch: &Batch) -> Result<()> {
        let (found, made) = ((batch.sentences(), batch.tokens), (self.sentences, self.tokens));
        ensure!(found == made, "a batch of {found:?} sentences and tokens in a workspace made for {made:?}");
        put(&batch.ids, &mut self.ids)?;
        put(&batch.lengths.iter().map(|&length| length as u32).collect::<Vec<_>>(), &mut self.lengths)?;
        put(&batch.shares(), &mut self.shares)?;
        Ok(())
    }

    /// Returns the total number of tokens, including padding.
    pub fn rows(&self) -> usize {
        self.sentences * self.tokens
    }

    /// Copies the embedding of each sentence to the host.
    ///
    /// # Errors
    /// Returns the errors of the device, including those of earlier steps.
    pub fn embeddings(&self) -> DeviceResult<Vec<Vec<f32>>> {
        let layout = Layout::contiguous(self.sentences * self.hidden_size);
        let elements = read(&self.embeddings, &layout)?;
        Ok(elements.chunks_exact(self.hidden_size).map(<[f32]>::to_vec).collect())
    }
}
