//! Grouped-query self-attention with a cache: every token attends to itself and to those before it,
//! whose keys and values are kept.

use crate::norm::Norm;
use crate::session::{Cache, Step};
use crate::{Config, Ranks, Shard};
use isobit::{BackendDevice, BackendStorage, DType, Layout, Matmul, Op, Result, RopeForm, Src};
use isobit_examples::Linear;
use std::ops::Range;
use std::slice;

/// The attention half of a layer.
#[derive(Debug)]
pub struct Attention<S> {
    norm: Norm<S>,
    /// The stacked weights of queries, keys and values: one product computes all three.
    qkv: Linear<S>,
    output: Linear<S>,
    shard: Shard,
    /// Of all ranks.
    heads: usize,
    head_size: usize,
    hidden: usize,
}

impl<S: BackendStorage> Attention<S> {
    /// Creates the attention from its next two matrices.
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
        let Config { hidden, heads, kv_heads, head_size, .. } = *config;
        let (stacked, joined, rows) = ((heads + 2 * kv_heads) * head_size, heads * head_size, shard.qkv(config));
        let own = rows.iter().map(Range::len).sum();
        Ok(Self {
            norm: Norm::new(device, hidden, config.eps, dtype)?,
            qkv: Linear::new(matrix([stacked, hidden], &rows)?, [hidden, own], op)?,
            output: Linear::new(
                matrix([hidden, joined], slice::from_ref(&shard.hidden))?,
                [joined, shard.hidden.len()],
                op,
            )?,
            shard: shard.clone(),
            heads,
            head_size,
            hidden,
        })
    }

    /// Updates the hidden state of a step, and the cache.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, op: Matmul, ranks: &Ranks<S::Device>, s: &mut Step<S>, cache: &mut Cache<S>) -> Result<()> {
        let (rows, size, own) = (s.rows, self.head_size, &self.shard);
        let (heads, kv_heads) = (own.heads.len(), own.kv_heads.len());
        self.norm.forward(&s.hidden, 0, &mut s.normed, rows)?;
        self.qkv.forward(op, &s.normed, &mut s.wide, rows)?;

        // Queries and keys lie side by side, so one pass rotates both.
        let made = Layout::contiguous([1, rows, heads + 2 * kv_heads, size]);
        let (turned, angles) =
            (Layout::contiguous([1, rows, heads + kv_heads, size]), Layout::contiguous([rows, size / 2]));
        let unturned = made.narrow(2, 0, heads + kv_heads)?;
        let inputs = [(&s.wide, &unturned), (&s.cos, &angles), (&s.sin, &angles)].map(Src::from);
        S::apply_into(&Op::Rope(RopeForm::Thd), &inputs, &mut s.turned, &turned)?;

        let by_head = |layout: &Layout, first, heads| layout.narrow(2, first, heads)?.transpose(1, 2);
        let (query, key) = (by_head(&turned, 0, heads)?, by_head(&turned, heads, kv_heads)?);
        let value = by_head(&made, heads + kv_heads, kv_heads)?;
        s.remember((&s.turned, &key), &mut cache.keys, &cache.layout)?;
        s.remember((&s.wide, &value), &mut cache.values, &cache.layout)?;

        // A result that is read by token has its heads joined.
        let joined = Layout::contiguous([1, rows, self.heads, size]);
        let context = by_head(&joined, own.heads.start, heads)?;
        let (seen, lengths) = (s.seen(&cache.layout)?, Layout::contiguous(1));
        let inputs = [(&s.turned, &query), (&cache.keys, &seen), (&cache.values, &seen), (&s.lengths, &lengths)];
        let parameters = s.attention();
        let inputs = inputs.map(Src::from);
        let attend = Op::ScaledDotProductAttention(parameters).with_numerics(op.numerics);
        S::apply_into(&attend, &inputs[..3 + usize::from(parameters.has_lengths)], &mut s.context, &context)?;
        ranks.join_columns(&mut s.context, [rows, self.heads * size])?;
        let columns = Layout::contiguous([rows, self.hidden]).narrow(1, own.hidden.start, own.hidden.len())?;
        self.output.forward_into(op, &s.context, &mut s.normed, &columns)?;
        ranks.join_columns(&mut s.normed, [rows, self.hidden])?;
        s.add_to_hidden(self.hidden)
    }
}
