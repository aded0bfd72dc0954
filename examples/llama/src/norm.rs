//! The norms of the model.

use isobit::{BackendDevice, BackendStorage, DType, Layout, Op, Result};
use isobit_examples::memory::upload;

/// An RMS norm.
#[derive(Debug)]
pub struct Norm<S> {
    weight: S,
    size: usize,
    eps: f64,
}

impl<S: BackendStorage> Norm<S> {
    /// Creates a norm of rows of `size` elements, with weights of 1.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new<D: BackendDevice<Storage = S>>(device: &D, size: usize, eps: f64, dtype: DType) -> Result<Self> {
        Ok(Self { weight: upload(device, &vec![1.0; size], dtype)?, size, eps })
    }

    /// Computes `y = norm(x)` for `rows` rows of `x` from row `first` on.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, x: &S, first: usize, y: &mut S, rows: usize) -> Result<()> {
        let from = Layout::contiguous_with_offset([rows, self.size], first * self.size);
        let (to, weight) = (Layout::contiguous([rows, self.size]), Layout::contiguous(self.size));
        S::apply_into(&Op::RmsNorm { eps: self.eps }, &[(x, &from).into(), (&self.weight, &weight).into()], y, &to)
    }
}
