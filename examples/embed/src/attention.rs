//! Multi-head self-attention: every token of a sentence attends to every other token,
//! and not to padding.

use crate::layers::{Affine, LayerNorm, Residual};
use crate::weights::Loader;
use crate::{Config, Workspace};
use anyhow::Result;
use isobit::{BackendStorage, BinaryOp, Layout, Op, Result as DeviceResult, Src};
use isobit_examples::Linear;

/// The attention half of an encoder layer.
#[derive(Debug)]
pub struct Attention<S> {
    /// The stacked weights of queries, keys and values: one product computes all three.
    qkv: Linear<S>,
    /// The bias of the queries. That of the keys adds the same number to all scores of a query,
    /// which leaves their softmax as it is. That of the values adds itself to every mean of them,
    /// so it is part of the output's.
    bias: S,
    output: Residual<S>,
}

impl<S: BackendStorage> Attention<S> {
    /// Loads the attention with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(from: &Loader<'_, S::Device>, name: &str, config: &Config) -> Result<Self> {
        let hidden = config.hidden_size;
        let matrix = |part: &str| from.weights.get(&format!("{name}.{part}.weight"), &[hidden, hidden]);
        let vector = |part: &str| from.weights.get(&format!("{name}.{part}.bias"), &[hidden]);
        let stacked = [matrix("self.query")?, matrix("self.key")?, matrix("self.value")?].concat();
        let (joined, of_values) = (matrix("output.dense")?, vector("self.value")?);
        let moved = |row: &[f32]| row.iter().zip(&of_values).map(|(&w, &b)| f64::from(w) * f64::from(b)).sum::<f64>();
        let rows = vector("output.dense")?.into_iter().zip(joined.chunks_exact(hidden));
        let bias: Vec<f32> = rows.map(|(bias, row)| (f64::from(bias) + moved(row)) as f32).collect();
        let norm = LayerNorm::load(from, &format!("{name}.output.LayerNorm"), config)?;
        Ok(Self {
            qkv: Linear::new(from.upload(&stacked)?, [hidden, 3 * hidden], from.product)?,
            bias: from.upload(&vector("self.query")?)?,
            output: Residual::new(Affine::new(from, &joined, &bias)?, norm),
        })
    }

    /// Updates the hidden state of the workspace.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> DeviceResult<()> {
        let [batch, tokens, heads, size] = [w.sentences, w.tokens, w.heads, w.head_size];
        let rows = w.rows();
        self.qkv.forward(w.product, &w.hidden, &mut w.wide, rows)?;

        let hidden = heads * size;
        let queries = Layout::contiguous([rows, 3 * hidden]).narrow(1, 0, hidden)?;
        let bias = Layout::contiguous(hidden).broadcast_as(queries.shape())?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (&self.bias, &bias).into(), &mut w.wide, &queries)?;

        let made = Layout::contiguous([batch, tokens, 3 * heads, size]);
        let part = |which| made.narrow(2, which * heads, heads)?.transpose(1, 2);
        let (query, key, value, lengths) = (part(0)?, part(1)?, part(2)?, Layout::contiguous(batch));
        let inputs = [(&w.wide, &query), (&w.wide, &key), (&w.wide, &value), (&w.lengths, &lengths)];
        // A result that is read by token has its heads joined.
        let context = Layout::contiguous([batch, tokens, heads, size]).transpose(1, 2)?;
        let parameters = isobit::Attention::new().with_inputs(false, true);
        let attend = Op::ScaledDotProductAttention(parameters).with_numerics(w.product.numerics);
        S::apply_into(&attend, &inputs.map(Src::from), &mut w.context, &context)?;
        self.output.forward(w.product, &w.context, [&mut w.sum, &mut w.next], &mut w.hidden, rows)
    }
}
