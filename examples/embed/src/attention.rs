//! Multi-head self-attention: every token of a sentence attends to every other token.

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
        // Scores are divided by the square root of the head size. This is folded into the queries,
        // which saves a pass over the scores.
        let scale = 1.0 / (config.head_size() as f32).sqrt();
        weight[..hidden * hidden].iter_mut().chain(&mut bias[..hidden]).for_each(|element| *element *= scale);
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

        // The pass that adds the bias also groups the vectors by head, through the order in which
        // it reads. The following products are then batches of contiguous matrices, which a
        // vendor's library computes in one call.
        let by_head = Layout::contiguous([3, batch, heads, tokens, size]);
        let by_token = Layout::contiguous([batch, tokens, 3, heads, size]).permute(&[2, 0, 3, 1, 4])?;
        let bias = Layout::contiguous([3, 1, heads, 1, size]).broadcast_as(by_head.shape())?;
        let (made, bias) = ((&w.wide, &by_token).into(), (self.qkv.bias(), &bias).into());
        S::binary_into(BinaryOp::Add, made, bias, &mut w.qkv, &by_head)?;

        let part = |which| Layout::contiguous_with_offset([batch, heads, tokens, size], which * rows * heads * size);
        let (query, key, value) = (part(0), part(1).transpose(2, 3)?, part(2));
        let scores = Layout::contiguous([batch, heads, tokens, tokens]);
        S::matmul_into(w.product, &w.qkv, &query, &w.qkv, &key, &mut w.scores, &scores)?;
        if w.padded {
            let mask = Layout::contiguous([batch, 1, 1, tokens]).broadcast_as(scores.shape())?;
            S::binary_into(BinaryOp::Add, Src::InPlace, (&w.mask, &mask).into(), &mut w.scores, &scores)?;
        }
        S::apply_into(&Op::Softmax, &[(&w.scores, &scores).into()], &mut w.probabilities, &scores)?;

        let context = Layout::contiguous([batch, heads, tokens, size]);
        S::matmul_into(w.product, &w.probabilities, &scores, &w.qkv, &value, &mut w.context, &context)?;
        // Joins the heads again, in the buffer that the projections no longer need.
        let joined = Layout::contiguous([batch, tokens, heads, size]);
        S::copy_into((&w.context, &context.transpose(1, 2)?).into(), &mut w.wide, &joined)?;
        self.output.forward(w.product, &w.wide, &mut w.sum, &mut w.hidden, rows)
    }
}
