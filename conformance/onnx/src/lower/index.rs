//! Selection of elements by positions.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of};
use isobit::{CmpOp, DType, GatherNd, Indexing, Op, TopK};

pub(super) const TABLE: Table = &[
    ("Gather", Rule::Code(gather)),
    ("GatherElements", Rule::Code(gather_elements)),
    ("GatherND", Rule::Code(gather_nd)),
    ("OneHot", Rule::Code(one_hot)),
    ("ReverseSequence", Rule::Code(reverse_sequence)),
    ("TopK", Rule::Code(top_k)),
    ("ai.onnx.ml.ArrayFeatureExtractor", Rule::Code(array_feature_extractor)),
];

/// Returns positions as ids of operations that count negative ones from the end.
pub(super) fn ids(ops: &Ops, at: &Tensor) -> Lowered<Tensor> {
    if at.dtype() == DType::I32 { Ok(at.clone()) } else { ops.cast(at, DType::I64) }
}

/// Selects slices of an axis by positions of any shape, which takes the place of the axis.
pub(super) fn take(ops: &Ops, x: &Tensor, at: &Tensor, axis: usize) -> Lowered<Tensor> {
    x.dims().get(axis).ok_or_else(|| Stop::Failed(format!("{:?} has no axis {axis}", x.dims())))?;
    let ids = ops.reshape(&ids(ops, at)?, &[at.len()])?;
    let taken = ops.apply(&Op::IndexSelect(Indexing::new(axis).with_negative_ids()), &[x, &ids])?;
    let shape = [&x.dims()[..axis], at.dims(), &x.dims()[axis + 1..]].concat();
    Ok(ops.reshape(&taken, &shape)?.of(x.element().kind))
}

fn gather(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    Ok(vec![take(call.ops(), x, call.input(1)?, call.axis(0, x.rank())?)?])
}

fn gather_elements(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let op = Op::Gather(Indexing::new(call.axis(0, x.rank())?).with_negative_ids());
    Ok(vec![ops.apply(&op, &[x, &ids(ops, call.input(1)?)?])?.of(x.element().kind)])
}

fn gather_nd(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let op = Op::GatherNd(GatherNd::new(size_of(call.int("batch_dims").unwrap_or(0))?).with_negative_ids());
    Ok(vec![ops.apply(&op, &[x, &ids(ops, call.input(1)?)?])?.of(x.element().kind)])
}

fn one_hot(call: &Call<'_>) -> Outputs {
    let (ops, at, values) = (call.ops(), call.input(0)?, call.input(2)?);
    let depth = size_of(ops.to_int(call.input(1)?)?)?;
    let axis = call.axis(-1, at.rank() + 1)?;
    let at = ops.positions(at, depth)?.unsqueeze(axis)?;
    let mut shape = vec![1; at.rank()];
    shape[axis] = depth;
    let classes = ops.reshape(&ops.iota(DType::I64, depth)?, &shape)?;
    let is_it = ops.compare(CmpOp::Eq, &at, &classes)?;
    let value = |i| ops.reshape(&values.narrow(0, i, 1)?, &[]);
    Ok(vec![ops.select(&is_it, &value(1)?, &value(0)?)?])
}

/// Reverses the first elements of each batch entry along the time.
fn reverse_sequence(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let (batch, time) = (call.int("batch_axis").unwrap_or(1), call.int("time_axis").unwrap_or(0));
    let (batch, time) = (axis_of(batch, x.rank())?, axis_of(time, x.rank())?);
    let lengths: Vec<usize> = ops.to_ints(call.input(1)?)?.into_iter().map(size_of).collect::<Lowered<_>>()?;
    let mut shape = vec![1; x.rank()];
    (shape[batch], shape[time]) = (x.dims()[batch], x.dims()[time]);
    if lengths.len() != shape[batch] {
        return Err(Stop::Failed(format!("{} lengths of {} sequences", lengths.len(), shape[batch])));
    }
    let source = |entry: usize, at: usize| if at < lengths[entry] { lengths[entry] - 1 - at } else { at };
    let positions: Vec<usize> = if batch < time {
        (0..shape[batch]).flat_map(|b| (0..shape[time]).map(move |t| (b, t))).map(|(b, t)| source(b, t)).collect()
    } else {
        (0..shape[time]).flat_map(|t| (0..shape[batch]).map(move |b| (b, t))).map(|(b, t)| source(b, t)).collect()
    };
    let ids = ops.ids(&shape, &positions)?.broadcast(x.dims())?;
    Ok(vec![ops.apply(&Op::Gather(Indexing::new(time)), &[x, &ids])?])
}

fn top_k(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axis = call.axis(-1, x.rank())?;
    let k = match call.optional(1)? {
        Some(k) => size_of(ops.to_int(k)?)?,
        None => size_of(call.int("k").unwrap_or(0))?,
    };
    let top = if call.int("largest").unwrap_or(1) != 0 { TopK::largest(k) } else { TopK::smallest(k) };
    let values = ops.along(&Op::TopK(top), x, axis)?;
    let positions = ops.along(&Op::ArgTopK(top), x, axis)?;
    Ok(vec![values, ops.cast(&positions, DType::I64)?])
}

fn array_feature_extractor(call: &Call<'_>) -> Outputs {
    let (ops, x, at) = (call.ops(), call.input(0)?, call.input(1)?);
    let flat = ops.reshape(at, &[at.len()])?;
    let last = x.rank().checked_sub(1).ok_or_else(|| Stop::Failed("a scalar has no features".into()))?;
    Ok(vec![take(ops, x, &flat, last)?])
}
