//! All buffers of a step, allocated once for batches of one size.

use crate::{Batch, Config};
use anyhow::{Result, ensure};
use isobit::{BackendDevice, BackendStorage, DType, Layout, Matmul, Result as DeviceResult, WithDType};

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
    pub(crate) padded: bool,
    /// Every matrix product of a step, with the numerics of the model.
    pub(crate) product: Matmul,
    device: S::Device,
    /// u32 `[sentences * tokens]`.
    pub(crate) ids: S,
    /// `[sentences, tokens]`: added to the scores of a token; 0 for tokens of the sentence,
    /// -infinity for padding.
    pub(crate) mask: S,
    /// `[sentences, tokens]`: the weight of a token in the mean.
    pub(crate) shares: S,
    /// `[sentences, tokens, hidden]`: the state between layers.
    pub(crate) hidden: S,
    /// Like `hidden`: the term that is added to it before the norm.
    pub(crate) sum: S,
    /// `[sentences, tokens, ..]`: results inside a layer that are wider than `hidden`.
    pub(crate) wide: S,
    /// `[3, sentences, heads, tokens, head_size]`: queries, keys and values.
    pub(crate) qkv: S,
    /// `[sentences, heads, tokens, tokens]`.
    pub(crate) scores: S,
    /// Like `scores`.
    pub(crate) probabilities: S,
    /// `[sentences, heads, tokens, head_size]`.
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
        let (rows, heads) = (sentences * tokens, config.num_attention_heads);
        let zeros = |elements: usize| device.zeros(&elements.into(), dtype);
        let mut workspace = Self {
            sentences,
            tokens,
            heads,
            head_size: config.head_size(),
            hidden_size: hidden,
            padded: false,
            product,
            device: device.clone(),
            ids: device.zeros(&rows.into(), DType::U32)?,
            mask: zeros(rows)?,
            shares: zeros(rows)?,
            hidden: zeros(rows * hidden)?,
            sum: zeros(rows * hidden)?,
            wide: zeros(rows * config.intermediate_size.max(3 * hidden))?,
            qkv: zeros(rows * 3 * hidden)?,
            scores: zeros(rows * heads * tokens)?,
            probabilities: zeros(rows * heads * tokens)?,
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
        self.padded = batch.is_padded();
        put(&self.device, &batch.ids, &mut self.ids)?;
        put(&self.device, &batch.places(|_| 0.0, f32::NEG_INFINITY), &mut self.mask)?;
        put(&self.device, &batch.places(|length| 1.0 / length as f32, 0.0), &mut self.shares)?;
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
        let elements = self.embeddings.to_dtype(&layout, DType::F32)?.to_vec::<f32>()?;
        Ok(elements.chunks_exact(self.hidden_size).map(<[f32]>::to_vec).collect())
    }
}

/// Overwrites the elements of a storage, in its dtype.
fn put<S: BackendStorage, T: WithDType>(device: &S::Device, elements: &[T], storage: &mut S) -> DeviceResult<()> {
    if storage.dtype() == T::DTYPE {
        return storage.write_slice(0, elements);
    }
    let layout = Layout::contiguous(elements.len());
    S::cast_into(&device.storage_from_slice(elements)?, &layout, storage, &layout)
}
