//! Reductions over axes, and what is computed along one of them.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::{Tensor, axis_of};
use isobit::{CmpOp, DType, Op, Reduce, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[
    ("ReduceSum", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::Sum, x, dims)))),
    ("ReduceProd", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::Prod, x, dims)))),
    ("ReduceMean", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::Mean, x, dims)))),
    ("ReduceMax", Rule::Code(|call| folded(call, |ops, x, dims| extreme(ops, ReduceOp::Max, x, dims)))),
    ("ReduceMin", Rule::Code(|call| folded(call, |ops, x, dims| extreme(ops, ReduceOp::Min, x, dims)))),
    ("ReduceL1", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::L1Norm, x, dims)))),
    ("ReduceL2", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::L2Norm, x, dims)))),
    ("ReduceSumSquare", Rule::Code(|call| folded(call, sum_of_squares))),
    ("ReduceLogSum", Rule::Code(|call| folded(call, log_sum))),
    ("ReduceLogSumExp", Rule::Code(|call| folded(call, |ops, x, dims| ops.reduce(ReduceOp::LogSumExp, x, dims)))),
    ("ArgMax", Rule::Code(|call| position(call, ReduceOp::ArgMax))),
    ("ArgMin", Rule::Code(|call| position(call, ReduceOp::ArgMin))),
    ("Softmax", Rule::Code(|call| rows(call, |ops, x, axis| ops.along(&Op::Softmax, x, axis)))),
    ("LogSoftmax", Rule::Code(|call| rows(call, |ops, x, axis| ops.along(&Op::LogSoftmax, x, axis)))),
    ("Hardmax", Rule::Code(|call| rows(call, hardmax))),
];

/// Reduces over the axes that an input or an attribute names, or over all of them.
fn folded(call: &Call<'_>, fold: fn(&Ops, &Tensor, &[usize]) -> Lowered<Tensor>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axes = match call.optional(1)? {
        Some(axes) => ops.to_ints(axes)?,
        None => call.ints("axes").unwrap_or_default().to_vec(),
    };
    if axes.is_empty() && call.flag("noop_with_empty_axes") {
        return Ok(vec![x.clone()]);
    }
    let mut dims: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, x.rank())).collect::<Lowered<_>>()?;
    if dims.is_empty() {
        dims = (0..x.rank()).collect();
    }
    let folded = fold(ops, x, &dims)?;
    if call.int("keepdims").unwrap_or(1) != 0 {
        return Ok(vec![folded]);
    }
    let kept: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.dims()[d]).collect();
    Ok(vec![ops.reshape(&folded, &kept)?.of(folded.element().kind)])
}

/// The largest or the smallest element. That of none is the identity of the operation, which for
/// booleans is their least or their largest value.
fn extreme(ops: &Ops, op: ReduceOp, x: &Tensor, dims: &[usize]) -> Lowered<Tensor> {
    let is_bool = x.element().is_bool();
    if is_bool && dims.iter().any(|&d| x.dims()[d] == 0) {
        let none = f64::from(op == ReduceOp::Min);
        return Ok(ops.fill(x.dtype(), x.layout().shape().reduced(dims).dims(), none)?.as_bool(true));
    }
    let op = Op::Reduce(Reduce::new(op, dims).with_empty_extremes());
    Ok(ops.apply(&op, &[x])?.as_bool(is_bool))
}

fn sum_of_squares(ops: &Ops, x: &Tensor, dims: &[usize]) -> Lowered<Tensor> {
    ops.reduce(ReduceOp::Sum, &ops.unary(UnaryOp::Sqr, x)?, dims)
}

fn log_sum(ops: &Ops, x: &Tensor, dims: &[usize]) -> Lowered<Tensor> {
    ops.unary(UnaryOp::Log, &ops.reduce(ReduceOp::Sum, x, dims)?)
}

/// The position of the first or the last extreme element, as i64.
fn position(call: &Call<'_>, op: ReduceOp) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axis = call.axis(0, x.rank())?;
    let last = call.flag("select_last_index");
    let seen = if last { ops.flip(x, axis)? } else { x.clone() };
    let mut at = ops.apply_as(&Op::Reduce(Reduce::new(op, &[axis])), DType::I64, &[&seen])?;
    if last {
        at = ops.affine(&at, -1.0, x.dims()[axis] as f64 - 1.0)?;
    }
    Ok(vec![if call.int("keepdims").unwrap_or(1) == 0 { at.squeeze(axis)? } else { at }])
}

/// Before version 13, a row is everything from the axis on.
fn rows(call: &Call<'_>, of: fn(&Ops, &Tensor, usize) -> Lowered<Tensor>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    if call.opset() >= 13 {
        return Ok(vec![of(ops, x, call.axis(-1, x.rank())?)?]);
    }
    let (before, after) = x.dims().split_at(call.axis(1, x.rank())?);
    let flat = ops.reshape(x, &[before.iter().product(), after.iter().product()])?;
    Ok(vec![ops.reshape(&of(ops, &flat, 1)?, x.dims())?])
}

/// 1 at the first largest element of each row, else 0.
fn hardmax(ops: &Ops, x: &Tensor, axis: usize) -> Lowered<Tensor> {
    let at = ops.reduce(ReduceOp::ArgMax, x, &[axis])?;
    let mut shape = vec![1; x.rank()];
    shape[axis] = x.dims()[axis];
    let positions = ops.reshape(&ops.iota(DType::U32, x.dims()[axis])?, &shape)?;
    ops.cast(&ops.compare(CmpOp::Eq, &positions, &at)?, x.dtype())
}
