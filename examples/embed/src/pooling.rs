//! The last layer: one vector of length 1 for a sentence, from those of its tokens.

use crate::Workspace;
use crate::weights::upload;
use isobit::{BackendStorage, DType, Layout, Matmul, Op, Result};

/// The guard of PyTorch's `normalize`: a vector shorter than this keeps its length.
const SHORTEST: f64 = 1e-12;

/// The mean of a sentence's tokens, brought to length 1.
#[derive(Debug)]
pub struct Pooling<S> {
    /// An RMS norm divides by the root of the mean square, which is the length over the root of the
    /// size; these weights are the difference.
    weight: S,
    size: usize,
}

impl<S: BackendStorage> Pooling<S> {
    /// For vectors of a size.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(device: &S::Device, size: usize, dtype: DType) -> Result<Self> {
        let weight = upload(device, &vec![1.0 / (size as f32).sqrt(); size], dtype)?;
        Ok(Self { weight, size })
    }

    /// Makes the embeddings of the workspace from its hidden state.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> Result<()> {
        // A mean over a sentence's own tokens is a product with each one's share in it, which is 0
        // for padding.
        let [shares, tokens, means] = [[1, w.tokens], [w.tokens, self.size], [1, self.size]]
            .map(|[m, n]| Layout::contiguous([w.sentences, m, n]));
        S::matmul_into(Matmul::default(), &w.shares, &shares, &w.hidden, &tokens, &mut w.means, &means)?;

        let (vectors, weight) = (Layout::contiguous([w.sentences, self.size]), Layout::contiguous(self.size));
        let norm = Op::RmsNorm { eps: SHORTEST * SHORTEST / self.size as f64 };
        let inputs = [(&w.means, &vectors).into(), (&self.weight, &weight).into()];
        S::apply_into(&norm, &inputs, &mut w.embeddings, &vectors)
    }
}
