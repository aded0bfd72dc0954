//! Attention with a state of fixed size, one step of time after another.

use super::attention::{by_heads, joined_heads};
use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{DType, UnaryOp};

pub(super) const TABLE: Table = &[("LinearAttention", Rule::Code(linear_attention))];

/// S = exp(g) S + k v^T and y = scale S^T q, in f32. With the delta rule, v is what v differs from
/// what the state has for k, times beta.
fn linear_attention(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let count = |name| size_of(call.int(name).unwrap_or(0));
    let (heads, kv_heads) = (count("q_num_heads")?, count("kv_num_heads")?);
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(Stop::Failed(format!("{heads} heads of queries share {kv_heads} heads of keys")));
    }
    let operand = |at, heads| by_heads(ops, &ops.cast(call.input(at)?, DType::F32)?, heads);
    let (query, key, value) = (operand(0, heads)?, operand(1, kv_heads)?, operand(2, kv_heads)?);
    let [batch, _, time, d] = *key.dims() else { unreachable!("heads give four dimensions") };
    let width = value.dims()[3];
    let rule = call.text("update_rule", "gated_delta");
    let (is_gated, is_delta) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(call.unknown("update_rule", other)),
    };
    let decay = if is_gated { Some(ops.unary(UnaryOp::Exp, &operand(4, kv_heads)?)?) } else { None };
    let beta = match call.optional(5)?.filter(|_| is_delta) {
        // One factor for all heads, or one for each.
        Some(beta) if beta.dims().last() == Some(&1) => Some(operand(5, 1)?),
        Some(_) => Some(operand(5, kv_heads)?),
        None => None,
    };
    let mut state = match call.optional(3)? {
        Some(state) => ops.cast(state, DType::F32)?,
        None => ops.fill(DType::F32, &[batch, kv_heads, d, width], 0.0)?,
    };
    let scale = call.float("scale").filter(|&scale| scale != 0.0).unwrap_or(1.0 / (d as f64).sqrt());
    let column = |x: &Tensor, t: usize| x.narrow(2, t, 1)?.transpose(2, 3);
    let mut rows = Vec::with_capacity(time);
    for t in 0..time {
        if let Some(decay) = &decay {
            state = ops.mul(&state, &column(decay, t)?)?;
        }
        let (k, mut v) = (column(&key, t)?, value.narrow(2, t, 1)?);
        if is_delta {
            let rest = ops.sub(&v, &ops.matmul(&k.transpose(2, 3)?, &state)?)?;
            let beta = beta.as_ref().ok_or_else(|| Stop::Failed(format!("the rule {rule} takes a beta")))?;
            v = ops.mul(&rest, &beta.narrow(2, t, 1)?)?;
        }
        state = ops.add(&state, &ops.mul(&k, &v)?)?;
        let read = if heads == kv_heads { state.clone() } else { ops.repeat_each(&state, 1, heads / kv_heads)? };
        rows.push(ops.affine(&ops.matmul(&query.narrow(2, t, 1)?, &read)?, scale, 0.0)?);
    }
    let y = ops.concat(&rows.iter().collect::<Vec<_>>(), 2)?;
    let dtype = call.input(0)?.dtype();
    let state_dtype = call.optional(3)?.map_or(dtype, Tensor::dtype);
    let y: Lowered<Tensor> = ops.cast(&joined_heads(ops, &y)?, dtype);
    Ok(vec![y?, ops.cast(&state, state_dtype)?])
}
