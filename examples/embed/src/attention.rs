//! Multi-head self-attention: every token of a sentence attends to every other token,
//! and not to padding.

use crate::layers::{Linear, Residual};
use crate::weights::Weights;
use crate::{Config, Workspace};
use anyhow::Result;
use isobit::{BackendStorage, BinaryOp, DType, Layout, Op, Result as DeviceResult, Src};

/// The attention half of an encoder layer.
#[derive(Debug)]
pub struct Attention<S> {
    /// The stacked weights of queries, keys and values: one product computes all three.
    qkv: Linear<S>,
    output: Residual<S>,
}

impl<S: BackendStorage> Attention<S> {
    /// Loads the attention with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(device: &S::Device, weights: &Weights<'_>, name: &str, config: &Config, dtype: DType) -> Result<Self> {
        let hidden = config.hidden_size;
        let (mut weight, mut bias) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            weight.extend(weights.get(&format!("{name}.self.{part}.weight"), &[hidden, hidden])?);
            bias.extend(weights.get(&format!("{name}.self.{part}.bias"), &[hidden])?);
        }
        let qkv = Linear::new(device, &weight, &bias, dtype)?;
        let output =
            Residual::load(device, weights, &format!("{name}.output"), [hidden, hidden], config.layer_norm_eps, dtype)?;
        Ok(Self { qkv, output })
    }

    /// Updates the hidden state of the workspace.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> DeviceResult<()> {
        let [batch, tokens, heads, size] = [w.sentences, w.tokens, w.heads, w.head_size];
        let rows = w.rows();
        self.qkv.product(w.product, &w.hidden, &mut w.wide, rows)?;

        let (outputs, bias) = self.qkv.outputs(rows)?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (self.qkv.bias(), &bias).into(), &mut w.wide, &outputs)?;

        let made = Layout::contiguous([batch, tokens, 3 * heads, size]);
        let part = |which| made.narrow(2, which * heads, heads)?.transpose(1, 2);
        let (query, key, value, lengths) = (part(0)?, part(1)?, part(2)?, Layout::contiguous(batch));
        let inputs = [(&w.wide, &query), (&w.wide, &key), (&w.wide, &value), (&w.lengths, &lengths)];
        // A result that is read by token has its heads joined.
        let context = Layout::contiguous([batch, tokens, heads, size]).transpose(1, 2)?;
        let parameters = isobit::Attention::new().with_inputs(false, true);
        let attend = Op::ScaledDotProductAttention(parameters).with_numerics(w.product.numerics);
        S::apply_into(&attend, &inputs.map(Src::from), &mut w.context, &context)?;
        self.output.forward(w.product, &w.context, &mut w.sum, &mut w.hidden, rows)
    }
}
