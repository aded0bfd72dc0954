//! The last layer: combines the vectors of a sentence's tokens into one vector of length 1.

use crate::Workspace;
use isobit::{BackendStorage, DType, Layout, Op, Result};
use isobit_examples::memory::upload;

/// The guard of PyTorch's `normalize`: a vector shorter than this keeps its length.
const SHORTEST: f64 = 1e-12;

/// The mean of a sentence's tokens, normalized to length 1.
#[derive(Debug)]
pub struct Pooling<S> {
    /// An RMS norm divides by the root mean square, which is the length divided by the square root
    /// of the size. These weights compensate for the difference.
    weight: S,
    size: usize,
}

impl<S: BackendStorage> Pooling<S> {
    /// Creates the layer for vectors of `size` elements.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new(device: &S::Device, size: usize, dtype: DType) -> Result<Self> {
        let weight = upload(device, &vec![1.0 / (size as f32).sqrt(); size], dtype)?;
        Ok(Self { weight, size })
    }

    /// Computes the embeddings of the workspace from its hidden state.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> Result<()> {
        // The mean over a sentence's own tokens is a product with the share of each token, which is
        // 0 for padding.
        let [shares, tokens, means] = [[1, w.tokens], [w.tokens, self.size], [1, self.size]]
            .map(|[m, n]| Layout::contiguous([w.sentences, m, n]));
        S::matmul_into(w.product, &w.shares, &shares, &w.hidden, &tokens, &mut w.means, &means)?;

        let (vectors, weight) = (Layout::contiguous([w.sentences, self.size]), Layout::contiguous(self.size));
        let norm = Op::RmsNorm { eps: SHORTEST * SHORTEST / self.size as f64 };
        let inputs = [(&w.means, &vectors).into(), (&self.weight, &weight).into()];
        S::apply_into(&norm, &inputs, &mut w.embeddings, &vectors)
    }
}
