//! Attention and rotary position embedding.

use super::index::take;
use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, broadcast_shape};
use isobit::{Attention, CmpOp, DType, Op, RopeForm, UnaryOp};

pub(super) const TABLE: Table = &[
    ("Attention", Rule::Code(attention)),
    ("ai.onnx.preview.FlexAttention", Rule::Code(flex_attention)),
    ("RotaryEmbedding", Rule::Code(rotary_embedding)),
];

/// Returns `[batch, time, heads * d]` as `[batch, heads, time, d]`.
pub(super) fn by_heads(ops: &Ops, x: &Tensor, heads: usize) -> Lowered<Tensor> {
    match *x.dims() {
        [batch, time, hidden] if heads > 0 && hidden.is_multiple_of(heads) => {
            ops.reshape(x, &[batch, time, heads, hidden / heads])?.transpose(1, 2)
        }
        _ => Err(Stop::Failed(format!("{:?} is no [batch, time, size] of {heads} heads", x.dims()))),
    }
}

/// Returns `[batch, heads, time, d]` as `[batch, time, heads * d]`.
pub(super) fn joined_heads(ops: &Ops, x: &Tensor) -> Lowered<Tensor> {
    match *x.dims() {
        [batch, heads, time, d] => ops.reshape(&x.transpose(1, 2)?, &[batch, time, heads * d]),
        _ => Err(Stop::Failed(format!("{:?} is no [batch, heads, time, size]", x.dims()))),
    }
}

fn heads(call: &Call<'_>, at: usize, name: &str) -> Lowered<Tensor> {
    let x = call.input(at)?;
    if x.rank() != 3 {
        return Ok(x.clone());
    }
    by_heads(call.ops(), x, size_of(call.int(name).unwrap_or(0))?)
}

/// Adds dimensions of size 1 before the others, up to four.
fn as_rank_4(mut x: Tensor) -> Lowered<Tensor> {
    while x.rank() < 4 {
        x = x.unsqueeze(0)?;
    }
    Ok(x)
}

/// What is added to the scores: the mask, and minus infinity where a query does not see a key.
struct Bias {
    /// `[batch or 1, heads or 1, queries or 1, keys]`; `None` hides nothing.
    sum: Option<Tensor>,
}

impl Bias {
    fn add(&mut self, ops: &Ops, more: Tensor) -> Lowered<()> {
        let more = as_rank_4(more)?;
        self.sum = Some(match self.sum.take() {
            Some(sum) => ops.add(&sum, &more)?,
            None => more,
        });
        Ok(())
    }

    /// Hides what a boolean tensor does not allow.
    fn allow(&mut self, ops: &Ops, allowed: &Tensor, dtype: DType) -> Lowered<()> {
        let [zero, hidden] = [0.0, f64::NEG_INFINITY].map(|value| ops.scalar(dtype, value));
        self.add(ops, ops.select(allowed, &zero?, &hidden?)?)
    }

    /// The query of position i sees the keys j with i + offset - left <= j <= i + offset + right.
    /// The offset is that of each batch entry, or one for all.
    fn of(call: &Call<'_>, dtype: DType, queries: usize, keys: usize, past: usize) -> Lowered<Self> {
        let ops = call.ops();
        let mut bias = Self { sum: None };
        if let Some(mask) = call.optional(3)? {
            let missing = keys - mask.dims().last().copied().unwrap_or(0).min(keys);
            let mut after = vec![0; mask.rank()];
            *after.last_mut().ok_or_else(|| Stop::Failed("the mask is a scalar".into()))? = missing;
            let before = vec![0; mask.rank()];
            if mask.element().is_bool() {
                bias.allow(ops, &ops.pad(mask, &before, &after, 0.0)?, dtype)?;
            } else {
                bias.add(ops, ops.cast(&ops.pad(mask, &before, &after, f64::NEG_INFINITY)?, dtype)?)?;
            }
        }
        let lengths = match call.optional(6)? {
            Some(lengths) => Some(ops.reshape(&ops.cast(lengths, DType::I64)?, &[lengths.len(), 1, 1, 1])?),
            None => None,
        };
        let is_causal = call.flag("is_causal");
        let side = |name| call.int(name).filter(|&size| size >= 0);
        let (left, right) = (side("left_window_size"), side("right_window_size"));
        let right = if is_causal { Some(right.unwrap_or(0).min(0)) } else { right };
        let key = ops.iota(DType::I64, keys)?;
        if left.is_some() || right.is_some() {
            let query = ops.iota(DType::I64, queries)?.unsqueeze(1)?;
            let own = match &lengths {
                Some(lengths) => ops.add(&query, &ops.affine(lengths, 1.0, -(queries as f64))?)?,
                None => ops.affine(&query, 1.0, past as f64)?,
            };
            let distance = ops.sub(&key, &own)?;
            if let Some(left) = left {
                bias.allow(ops, &ops.compare_with(CmpOp::Ge, &distance, -(left as f64))?, dtype)?;
            }
            if let Some(right) = right {
                bias.allow(ops, &ops.compare_with(CmpOp::Le, &distance, right as f64)?, dtype)?;
            }
        }
        if let Some(lengths) = lengths {
            bias.allow(ops, &ops.compare(CmpOp::Lt, &key, &lengths)?, dtype)?;
        }
        Ok(bias)
    }
}

/// With the HAL's own operation if it takes the dtypes and nothing asks for the scores, else by
/// products and a softmax.
fn attention(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let is_packed = call.input(0)?.rank() == 3;
    let query = heads(call, 0, "q_num_heads")?;
    let (mut key, mut value) = (heads(call, 1, "kv_num_heads")?, heads(call, 2, "kv_num_heads")?);
    let mut past = 0;
    if let Some(cache) = call.optional(4)? {
        past = cache.dims().get(2).copied().unwrap_or(0);
        key = ops.concat(&[cache, &key], 2)?;
        value = ops.concat(&[call.input(5)?, &value], 2)?;
    }
    let ([_, _, queries, d], [_, _, keys, _]) = (query.dims(), key.dims()) else {
        return Err(Stop::Failed(format!("attention of {:?} and {:?}", query.dims(), key.dims())));
    };
    let bias = Bias::of(call, query.dtype(), *queries, *keys, past)?;
    let scale = call.float("scale").unwrap_or(1.0 / (*d as f64).sqrt());
    let softcap = call.float("softcap").filter(|&cap| cap > 0.0);
    let (y, scores) = match own(call, [&query, &key, &value], &bias, scale, softcap) {
        Some(y) => (y?, None),
        None => {
            let (y, scores) = composed(call, [&query, &key, &value], &bias, scale, softcap)?;
            (y, Some(scores))
        }
    };
    let y = if is_packed { joined_heads(ops, &y)? } else { y };
    Ok([vec![y, key, value], scores.into_iter().collect()].concat())
}

/// Runs the HAL's own operation; `None` if it does not have this call.
fn own(
    call: &Call<'_>,
    [query, key, value]: [&Tensor; 3],
    bias: &Bias,
    scale: f64,
    softcap: Option<f64>,
) -> Option<Lowered<Tensor>> {
    let taken = matches!(query.dtype(), DType::F32 | DType::F16 | DType::BF16);
    let small = query.dims()[3] <= Attention::MAX_HEAD_SIZE && key.dims() == value.dims();
    if !taken || !small || key.dtype() != query.dtype() || call.wants(3) {
        return None;
    }
    let mut op = Attention::new().with_scale(scale as f32);
    if let Some(cap) = softcap {
        op = op.with_softcap(cap as f32);
    }
    let shape = [query.dims()[0], query.dims()[1], query.dims()[2], key.dims()[2]];
    let Some(mask) = &bias.sum else {
        return Some(call.ops().apply(&Op::ScaledDotProductAttention(op), &[query, key, value]));
    };
    let op = Op::ScaledDotProductAttention(op.with_inputs(true, false));
    Some(mask.broadcast(&shape).and_then(|mask| call.ops().apply(&op, &[query, key, value, &mask])))
}

/// Repeats the heads of keys or values for the heads of queries that share them.
fn shared(ops: &Ops, x: &Tensor, query: &Tensor) -> Lowered<Tensor> {
    let [heads, kv_heads] = [query, x].map(|x| x.dims().get(1).copied().unwrap_or(0));
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(Stop::Failed(format!("{heads} heads of queries share {kv_heads} heads of keys")));
    }
    if heads == kv_heads { Ok(x.clone()) } else { ops.repeat_each(x, 1, heads / kv_heads) }
}

/// Returns the result, and the scores at the stage that an attribute names.
fn composed(
    call: &Call<'_>,
    [query, key, value]: [&Tensor; 3],
    bias: &Bias,
    scale: f64,
    softcap: Option<f64>,
) -> Lowered<(Tensor, Tensor)> {
    let ops = call.ops();
    let (dtype, root) = (query.dtype(), scale.sqrt());
    let turned = ops.affine(&shared(ops, key, query)?, root, 0.0)?.transpose(2, 3)?;
    let product = ops.matmul(&ops.affine(query, root, 0.0)?, &turned)?;
    let capped = match softcap {
        Some(cap) => {
            let divided = ops.div(&product, &ops.scalar(dtype, cap)?)?;
            ops.affine(&ops.unary(UnaryOp::Tanh, &divided)?, cap, 0.0)?
        }
        None => product,
    };
    let biased = match &bias.sum {
        Some(bias) => ops.add(&capped, bias)?,
        None => capped.clone(),
    };
    let precision = call.dtype("softmax_precision")?.unwrap_or(dtype);
    // A query that sees no key gets zeros.
    let weights = ops.cast(&ops.apply(&Op::SafeSoftmax, &[&ops.cast(&biased, precision)?])?, dtype)?;
    let y = ops.matmul(&weights, &shared(ops, value, query)?)?;
    let scores = match call.int("qk_matmul_output_mode").unwrap_or(0) {
        0 | 1 => capped,
        2 => biased,
        3 => weights,
        other => return Err(call.unknown("qk_matmul_output_mode", &other.to_string())),
    };
    Ok((y, scores))
}

/// Attention with graphs that change the scores and the weights; narrow floats compute in f32.
fn flex_attention(call: &Call<'_>) -> Outputs {
    let (ops, query, value) = (call.ops(), call.input(0)?, call.input(2)?);
    let key = shared(ops, call.input(1)?, query)?;
    let d = query.dims().last().copied().unwrap_or(1);
    let root = call.float("scale").unwrap_or(1.0 / (d as f64).sqrt()).sqrt();
    let compute = call.dtype("softmax_precision")?.unwrap_or(query.dtype().compute());
    let modified = |name, x: Tensor| match call.graph(name) {
        Some(graph) => {
            let changed = call.evaluate(graph, vec![x])?;
            changed.into_iter().next().ok_or_else(|| Stop::Failed(format!("the graph {name} has no output")))
        }
        None => Ok(x),
    };
    let turned = ops.affine(&key, root, 0.0)?.transpose(2, 3)?;
    let scores = ops.matmul(&ops.affine(query, root, 0.0)?, &turned)?;
    let scores = modified("score_mod", ops.cast(&scores, compute)?)?;
    let weights = ops.apply(&Op::Softmax, &[&ops.cast(&scores, compute)?])?;
    let weights = ops.cast(&modified("prob_mod", weights)?, compute)?;
    let y = ops.matmul(&weights, &ops.cast(&shared(ops, value, query)?, compute)?)?;
    Ok(vec![ops.cast(&y, value.dtype())?])
}

/// Angles may be selected by positions, and only the first elements of a head be rotated.
fn rotary_embedding(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let is_packed = x.rank() == 3;
    let x = if is_packed { by_heads(ops, x, size_of(call.int("num_heads").unwrap_or(0))?)? } else { x.clone() };
    let [batch, _, time, d] = *x.dims() else {
        return Err(Stop::Failed(format!("{:?} is no [batch, heads, time, size]", x.dims())));
    };
    let angles = |at| {
        let cache = call.input(at)?;
        let chosen = match call.optional(3)? {
            Some(positions) => take(ops, cache, positions, 0)?,
            None => cache.clone(),
        };
        let last = chosen.dims().last().copied().unwrap_or(0);
        chosen.broadcast(&broadcast_shape(&[chosen.dims(), &[batch, time, last]])?)
    };
    let (cos, sin) = (angles(1)?, angles(2)?);
    let rotated = match size_of(call.int("rotary_embedding_dim").unwrap_or(0))? {
        0 => d,
        part => part,
    };
    let form = if call.flag("interleaved") { RopeForm::Interleaved } else { RopeForm::Halves };
    let mut y = ops.apply(&Op::Rope(form), &[&x.narrow(3, 0, rotated)?, &cos, &sin])?;
    if rotated < d {
        y = ops.concat(&[&y, &x.narrow(3, rotated, d - rotated)?], 3)?;
    }
    Ok(vec![if is_packed { joined_heads(ops, &y)? } else { y }])
}
