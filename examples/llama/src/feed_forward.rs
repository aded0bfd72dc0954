//! The feed-forward half of a layer, which maps each token separately through a wider vector.

use crate::Config;
use crate::norm::Norm;
use crate::session::Step;
use isobit::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Matmul, Result, Src, UnaryOp};
use isobit_examples::Linear;

/// `hidden + (silu(x G^T) * (x U^T)) D^T`, where x is the norm of the hidden state.
#[derive(Debug)]
pub struct FeedForward<S> {
    norm: Norm<S>,
    /// The stacked weights of the gate and of what it lets through: one product computes both.
    widen: Linear<S>,
    narrow: Linear<S>,
    wide: usize,
    hidden: usize,
}

impl<S: BackendStorage> FeedForward<S> {
    /// Creates the network from its next two matrices.
    ///
    /// # Errors
    /// Returns the errors of the device and of `matrix`.
    pub fn new<D: BackendDevice<Storage = S>>(
        device: &D,
        config: &Config,
        dtype: DType,
        op: Matmul,
        matrix: &mut impl FnMut(usize) -> Result<S>,
    ) -> Result<Self> {
        let (hidden, wide) = (config.hidden, config.wide);
        Ok(Self {
            norm: Norm::new(device, hidden, config.eps, dtype)?,
            widen: Linear::new(matrix(2 * wide * hidden)?, [hidden, 2 * wide], op)?,
            narrow: Linear::new(matrix(hidden * wide)?, [wide, hidden], op)?,
            wide,
            hidden,
        })
    }

    /// Updates the hidden state of a step.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, op: Matmul, s: &mut Step<S>) -> Result<()> {
        let (rows, wide) = (s.rows, self.wide);
        self.norm.forward(&s.hidden, 0, &mut s.normed, rows)?;
        self.widen.forward(op, &s.normed, &mut s.wide, rows)?;
        let both = Layout::contiguous([rows, 2 * wide]);
        let (gate, through) = (both.narrow(1, 0, wide)?, both.narrow(1, wide, wide)?);
        let gated = Layout::contiguous([rows, wide]);
        S::unary_into(UnaryOp::Silu, (&s.wide, &gate).into(), &mut s.gated, &gated)?;
        S::binary_into(BinaryOp::Mul, Src::InPlace, (&s.wide, &through).into(), &mut s.gated, &gated)?;
        self.narrow.forward(op, &s.gated, &mut s.normed, rows)?;
        s.add_to_hidden(self.hidden)
    }
}
