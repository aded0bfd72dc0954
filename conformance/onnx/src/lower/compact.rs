//! Results whose size depends on values. ONNX's results have exactly that size, so the count is
//! read back from the device before the operation runs.

use super::index::take;
use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::{Tensor, axis_of};
use isobit::{DType, Op, Sort};

pub(super) const TABLE: Table =
    &[("NonZero", Rule::Code(nonzero)), ("Compress", Rule::Code(compress)), ("Unique", Rule::Code(unique))];

fn count(ops: &Ops, op: &Op, x: &Tensor) -> Lowered<usize> {
    size_of(ops.to_int(&ops.apply(op, &[x])?)?)
}

fn nonzero(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let bound = count(ops, &Op::CountNonzero, x)?;
    let rows = ops.apply(&Op::Nonzero { bound }, &[x])?;
    Ok(vec![ops.cast(&rows, DType::I64)?.transpose(0, 1)?])
}

fn compress(call: &Call<'_>) -> Outputs {
    let (ops, x, mask) = (call.ops(), call.input(0)?, call.input(1)?);
    let bound = count(ops, &Op::CountNonzero, mask)?;
    let (x, dim) = match call.int("axis") {
        Some(axis) => (x.clone(), axis_of(axis, x.rank())?),
        None => (ops.reshape(x, &[x.len()])?.of(x.element().kind), 0),
    };
    let kept = ops.apply(&Op::Compress { dim, bound }, &[&x, mask])?;
    Ok(vec![kept.of(x.element().kind)])
}

fn unique(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    if call.int("axis").is_some() {
        return Err(call.form("slices along an axis"));
    }
    let bound = count(ops, &Op::CountUnique, x)?;
    let mut values = ops.apply(&Op::Unique { bound }, &[x])?;
    let mut first = ops.apply(&Op::UniqueFirst { bound }, &[x])?;
    let mut counts = ops.apply(&Op::UniqueCounts { bound }, &[x])?;
    let inverse = ops.apply(&Op::UniqueInverse, &[x])?;
    let mut inverse = ops.reshape(&inverse, &[x.len()])?;
    if call.int("sorted").unwrap_or(1) == 0 {
        // In the order in which values occur.
        let sort = Op::ArgSort(Sort::ascending());
        let order = ops.apply(&sort, &[&first])?;
        let place = ops.apply(&sort, &[&order])?;
        [values, first, counts] =
            [take(ops, &values, &order, 0)?, take(ops, &first, &order, 0)?, take(ops, &counts, &order, 0)?];
        inverse = take(ops, &place, &inverse, 0)?;
    }
    let mut outputs = vec![values.of(x.element().kind)];
    for positions in [first, inverse, counts] {
        outputs.push(ops.cast(&positions, DType::I64)?);
    }
    Ok(outputs)
}
