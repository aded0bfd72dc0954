//! Losses of a classification.

use super::index::take;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{BinaryOp, CmpOp, DType, Indexing, Op, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[
    ("NegativeLogLikelihoodLoss", Rule::Code(|call| Ok(vec![loss(call, call.input(0)?)?]))),
    ("SoftmaxCrossEntropyLoss", Rule::Code(cross_entropy)),
];

fn cross_entropy(call: &Call<'_>) -> Outputs {
    let logs = call.ops().along(&Op::LogSoftmax, call.input(0)?, 1)?;
    Ok(vec![loss(call, &logs)?, logs])
}

/// Minus the logarithm of each target's probability, weighted by its class. Targets that are to be
/// ignored weigh nothing.
fn loss(call: &Call<'_>, logs: &Tensor) -> Lowered<Tensor> {
    let ops = call.ops();
    let mut targets = ops.cast(call.input(1)?, DType::I64)?;
    let one = ops.scalar(logs.dtype(), 1.0)?;
    let ignored = match call.int("ignore_index") {
        Some(index) => Some(ops.compare(CmpOp::Eq, &targets, &ops.ints(&[], &[index])?)?),
        None => None,
    };
    if let Some(ignored) = &ignored {
        targets = ops.select(ignored, &ops.ints(&[], &[0])?, &targets)?;
    }
    let mut weights = match call.optional(2)? {
        Some(weights) => take(ops, weights, &targets, 0)?,
        None => one.broadcast(targets.dims())?,
    };
    if let Some(ignored) = &ignored {
        weights = ops.select(ignored, &ops.scalar(logs.dtype(), 0.0)?, &weights)?;
    }
    let chosen = ops.apply(&Op::Gather(Indexing::new(1)), &[logs, &targets.unsqueeze(1)?])?.squeeze(1)?;
    let losses = ops.binary(BinaryOp::Mul, &ops.unary(UnaryOp::Neg, &chosen)?, &weights)?;
    let dims: Vec<usize> = (0..losses.rank()).collect();
    let sum = |x: &Tensor| ops.reshape(&ops.reduce(ReduceOp::Sum, x, &dims)?, &[]);
    match call.text("reduction", "mean") {
        "none" => Ok(losses),
        "sum" => sum(&losses),
        "mean" => ops.div(&sum(&losses)?, &sum(&weights)?),
        other => Err(call.unknown("reduction", other)),
    }
}
