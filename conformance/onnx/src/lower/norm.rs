//! Normalizations.

use super::shape::size_of;
use super::windows::spatial;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::{Tensor, axis_of};
use isobit::{BatchNorm, CmpOp, DType, GroupNorm, LayerNorm, LocalResponseNorm, Op, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[
    ("LayerNormalization", Rule::Code(layer_norm)),
    ("RMSNormalization", Rule::Code(rms_norm)),
    ("GroupNormalization", Rule::Code(group_norm)),
    ("InstanceNormalization", Rule::Code(instance_norm)),
    ("BatchNormalization", Rule::Code(batch_norm)),
    ("MeanVarianceNormalization", Rule::Code(mean_variance_norm)),
    ("LpNormalization", Rule::Code(lp_norm)),
    ("LRN", Rule::Code(local_response_norm)),
];

const EPSILON: f64 = 1e-5;

/// An input whose dimensions from an axis on are one row.
struct Rows {
    x: Tensor,
    axis: usize,
    length: usize,
}

fn rows(call: &Call<'_>) -> Lowered<Rows> {
    let x = call.input(0)?;
    let axis = call.axis(-1, x.rank())?;
    let (before, after) = x.dims().split_at(axis);
    let length = after.iter().product();
    Ok(Rows { x: call.ops().reshape(x, &[before.iter().product(), length])?, axis, length })
}

impl Rows {
    /// Returns a parameter as a row.
    fn parameter(&self, ops: &Ops, dims: &[usize], parameter: &Tensor) -> Lowered<Tensor> {
        ops.reshape(&parameter.broadcast(&dims[self.axis..])?, &[self.length])
    }
}

/// The mean and the deviation are further outputs.
fn layer_norm(call: &Call<'_>) -> Outputs {
    let (ops, dims, rows) = (call.ops(), call.input(0)?.dims(), rows(call)?);
    let weight = rows.parameter(ops, dims, call.input(1)?)?;
    let bias = call.optional(2)?.map(|bias| rows.parameter(ops, dims, bias)).transpose()?;
    let eps = call.float("epsilon").unwrap_or(EPSILON);
    let op = Op::LayerNorm(LayerNorm::new(eps).with_inputs(true, bias.is_some()));
    let inputs: Vec<&Tensor> = [&rows.x, &weight].into_iter().chain(&bias).collect();
    let y = ops.apply(&op, &inputs)?;
    let mut outputs = vec![ops.reshape(&y, dims)?];
    if call.wants(1) || call.wants(2) {
        let stats = ops.apply(&Op::LayerNormStats { eps }, &[&rows.x])?;
        let of_rows = |column| ops.cast(&stats.narrow(1, column, 1)?, DType::F32);
        let (mean, deviation) = (of_rows(0)?, of_rows(1)?);
        let kept: Vec<usize> = (0..dims.len()).map(|d| if d < rows.axis { dims[d] } else { 1 }).collect();
        outputs.extend([ops.reshape(&mean, &kept)?, ops.reshape(&deviation, &kept)?]);
    }
    Ok(outputs)
}

fn rms_norm(call: &Call<'_>) -> Outputs {
    let (ops, dims, rows) = (call.ops(), call.input(0)?.dims(), rows(call)?);
    let weight = rows.parameter(ops, dims, call.input(1)?)?;
    let eps = call.float("epsilon").unwrap_or(EPSILON);
    let y = ops.apply(&Op::RmsNorm { eps }, &[&rows.x, &weight])?;
    Ok(vec![ops.reshape(&y, dims)?])
}

/// Before version 21 of the operators, scale and bias belong to a group.
fn grouped(call: &Call<'_>, groups: usize) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let channels = x.dims().get(1).copied().unwrap_or(0);
    let per_channel = |at| {
        let parameter = call.input(at)?;
        let each = if parameter.len() == channels { 1 } else { channels / groups.max(1) };
        ops.repeat_each(parameter, 0, each)
    };
    let eps = call.float("epsilon").unwrap_or(EPSILON);
    let op = Op::GroupNorm(GroupNorm::new(groups, eps));
    Ok(vec![ops.apply(&op, &[x, &per_channel(1)?, &per_channel(2)?])?])
}

fn group_norm(call: &Call<'_>) -> Outputs {
    grouped(call, size_of(call.int("num_groups").unwrap_or(0))?)
}

fn instance_norm(call: &Call<'_>) -> Outputs {
    let channels = call.input(0)?.dims().get(1).copied().unwrap_or(0);
    grouped(call, channels)
}

/// In training, mean and variance are those of the batch, and the running ones are updated.
fn batch_norm(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    spatial(x)?;
    let (mut mean, mut variance) = (call.input(3)?.clone(), call.input(4)?.clone());
    let mut running = Vec::new();
    if call.flag("training_mode") {
        let dims: Vec<usize> = (0..x.rank()).filter(|&d| d != 1).collect();
        let (batch_mean, batch_variance) = ops.moments(x, &dims)?;
        let [batch_mean, batch_variance] = [batch_mean, batch_variance].map(|of| ops.reshape(&of, mean.dims()));
        let (batch_mean, batch_variance) = (batch_mean?, batch_variance?);
        let momentum = call.float("momentum").unwrap_or(0.9);
        for (old, new) in [(&mean, &batch_mean), (&variance, &batch_variance)] {
            let kept = ops.affine(old, momentum, 0.0)?;
            running.push(ops.add(&kept, &ops.affine(new, 1.0 - momentum, 0.0)?)?);
        }
        (mean, variance) = (batch_mean, batch_variance);
    }
    let [mean, variance] = [mean, variance].map(|of| ops.cast(&of, x.dtype().compute()));
    let op = Op::BatchNorm(BatchNorm::new(call.float("epsilon").unwrap_or(EPSILON)));
    let y = ops.apply(&op, &[x, &mean?, &variance?, call.input(1)?, call.input(2)?])?;
    Ok([vec![y], running].concat())
}

/// The deviation is increased by what ONNX's function adds to it.
fn mean_variance_norm(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axes = call.ints("axes").unwrap_or(&[0, 2, 3]);
    let dims: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, x.rank())).collect::<Lowered<_>>()?;
    let (mean, variance) = ops.moments(x, &dims)?;
    let deviation = ops.affine(&ops.unary(UnaryOp::Sqrt, &variance)?, 1.0, 1e-9)?;
    Ok(vec![ops.div(&ops.sub(x, &mean)?, &deviation)?])
}

/// A row of zeros stays one.
fn lp_norm(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let dims = [call.axis(-1, x.rank())?];
    let norm = match call.int("p").unwrap_or(2) {
        1 => ops.reduce(ReduceOp::Sum, &ops.unary(UnaryOp::Abs, x)?, &dims)?,
        2 => ops.unary(UnaryOp::Sqrt, &ops.reduce(ReduceOp::Sum, &ops.unary(UnaryOp::Sqr, x)?, &dims)?)?,
        p => return Err(call.form(format!("p of {p}"))),
    };
    let is_zero = ops.compare_with(CmpOp::Eq, &norm, 0.0)?;
    let divisor = ops.select(&is_zero, &ops.scalar(x.dtype(), 1.0)?, &norm)?;
    Ok(vec![ops.div(x, &divisor)?])
}

fn local_response_norm(call: &Call<'_>) -> Outputs {
    let size = size_of(call.int("size").unwrap_or(0))?.max(1);
    let (alpha, beta) = (call.float("alpha").unwrap_or(1e-4), call.float("beta").unwrap_or(0.75));
    let before = (size - 1) / 2;
    let op = LocalResponseNorm::new(size, alpha, beta, call.float("bias").unwrap_or(1.0));
    let op = Op::LocalResponseNorm(op.with_window(before, size - 1 - before));
    Ok(vec![call.ops().apply(&op, &[call.input(0)?])?])
}
