//! The feed-forward half of a layer, which maps each token separately through a wider vector.

use crate::norm::Norm;
use crate::session::Step;
use crate::{Config, Ranks, Shard};
use isobit::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Matmul, Result, Src, UnaryOp};
use isobit_examples::Linear;
use std::ops::Range;
use std::slice;

/// `hidden + (silu(x G^T) * (x U^T)) D^T`, where x is the norm of the hidden state.
#[derive(Debug)]
pub struct FeedForward<S> {
    norm: Norm<S>,
    /// The stacked weights of the gate and of what it lets through: one product computes both.
    widen: Linear<S>,
    narrow: Linear<S>,
    shard: Shard,
    /// Of all ranks.
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
        shard: &Shard,
        dtype: DType,
        op: Matmul,
        matrix: &mut impl FnMut([usize; 2], &[Range<usize>]) -> Result<S>,
    ) -> Result<Self> {
        let Config { hidden, wide, .. } = *config;
        let rows = shard.widen(config);
        Ok(Self {
            norm: Norm::new(device, hidden, config.eps, dtype)?,
            widen: Linear::new(matrix([2 * wide, hidden], &rows)?, [hidden, 2 * shard.wide.len()], op)?,
            narrow: Linear::new(
                matrix([hidden, wide], slice::from_ref(&shard.hidden))?,
                [wide, shard.hidden.len()],
                op,
            )?,
            shard: shard.clone(),
            wide,
            hidden,
        })
    }

    /// Updates the hidden state of a step.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, op: Matmul, ranks: &Ranks<S::Device>, s: &mut Step<S>) -> Result<()> {
        let (rows, wide, hidden) = (s.rows, &self.shard.wide, &self.shard.hidden);
        self.norm.forward(&s.hidden, 0, &mut s.normed, rows)?;
        self.widen.forward(op, &s.normed, &mut s.wide, rows)?;
        let both = Layout::contiguous([rows, 2 * wide.len()]);
        let (gate, through) = (both.narrow(1, 0, wide.len())?, both.narrow(1, wide.len(), wide.len())?);
        let gated = Layout::contiguous([rows, self.wide]).narrow(1, wide.start, wide.len())?;
        S::unary_into(UnaryOp::Silu, (&s.wide, &gate).into(), &mut s.gated, &gated)?;
        S::binary_into(BinaryOp::Mul, Src::InPlace, (&s.wide, &through).into(), &mut s.gated, &gated)?;
        ranks.join_columns(&mut s.gated, [rows, self.wide])?;
        let columns = Layout::contiguous([rows, self.hidden]).narrow(1, hidden.start, hidden.len())?;
        self.narrow.forward_into(op, &s.gated, &mut s.normed, &columns)?;
        ranks.join_columns(&mut s.normed, [rows, self.hidden])?;
        s.add_to_hidden(self.hidden)
    }
}
