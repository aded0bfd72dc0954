//! Results whose size depends on values. ONNX's results have exactly that size, so the count is
//! read back from the device before the operation runs.

use super::index::take;
use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::{Tensor, axis_of};
use isobit::{CmpOp, DType, Indexing, Op, ReduceOp, Scan, Sort};

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
    let axis = call.int("axis").map(|axis| axis_of(axis, x.rank())).transpose()?;
    let [mut values, mut first, mut inverse, mut counts] = match axis {
        Some(axis) => unique_slices(ops, &x.transpose(0, axis)?)?,
        None => {
            let bound = count(ops, &Op::CountUnique, x)?;
            let of = |op| ops.apply(&op, &[x]);
            let inverse = ops.reshape(&of(Op::UniqueInverse)?, &[x.len()])?;
            [of(Op::Unique { bound })?, of(Op::UniqueFirst { bound })?, inverse, of(Op::UniqueCounts { bound })?]
        }
    };
    if call.int("sorted").unwrap_or(1) == 0 {
        // In the order in which values occur.
        let sort = Op::ArgSort(Sort::ascending());
        let order = ops.apply(&sort, &[&first])?;
        let place = ops.apply(&sort, &[&order])?;
        [values, first, counts] =
            [take(ops, &values, &order, 0)?, take(ops, &first, &order, 0)?, take(ops, &counts, &order, 0)?];
        inverse = take(ops, &place, &inverse, 0)?;
    }
    if let Some(axis) = axis {
        values = values.transpose(0, axis)?;
    }
    let mut outputs = vec![values.of(x.element().kind)];
    for positions in [first, inverse, counts] {
        outputs.push(ops.cast(&positions, DType::I64)?);
    }
    Ok(outputs)
}

/// Returns the distinct slices of the first dimension in lexicographic order, where each occurs
/// first, which one each slice is, and how often each occurs. Sorts by each column, from the last
/// to the first, and compares neighbours.
fn unique_slices(ops: &Ops, x: &Tensor) -> Lowered<[Tensor; 4]> {
    let slices = x.dims()[0];
    let rows = ops.reshape(x, &[slices, x.len() / slices.max(1)])?;
    let sort = |keys: &Tensor| ops.apply(&Op::ArgSort(Sort::ascending()), &[keys]);
    let mut order = ops.iota(DType::I64, slices)?;
    for column in (0..rows.dims()[1]).rev() {
        let keys = take(ops, &rows.narrow(1, column, 1)?.squeeze(1)?, &order, 0)?;
        order = take(ops, &order, &sort(&keys)?, 0)?;
    }
    let sorted = take(ops, &rows, &order, 0)?;
    let pairs = slices.saturating_sub(1);
    let [left, right] = [0, slices - pairs].map(|start| sorted.narrow(0, start, pairs));
    let differ = ops.reduce(ReduceOp::Any, &ops.compare(CmpOp::Ne, &left?, &right?)?, &[1])?;
    let starts = ops.concat(&[&ops.fill(DType::U8, &[slices - pairs], 1.0)?, &ops.reshape(&differ, &[pairs])?], 0)?;
    let group = ops.apply(&Op::Scan(Scan::cumsum(0)), &[&ops.cast(&starts, DType::I64)?])?;
    let group = ops.affine(&group, 1.0, -1.0)?;
    let bound = count(ops, &Op::CountNonzero, &starts)?;
    // The sort is stable, so that the first of equal ones comes first.
    let first = ops.apply(&Op::Compress { dim: 0, bound }, &[&order, &starts])?;
    let inverse = take(ops, &group, &sort(&order)?, 0)?;
    let [none, ones] = [(bound, 0.0), (slices, 1.0)].map(|(size, value)| ops.fill(DType::I64, &[size], value));
    let counts = ops.apply(&Op::IndexAdd(Indexing::new(0)), &[&none?, &group, &ones?])?;
    let kept = take(ops, x, &first, 0)?;
    Ok([kept, first, inverse, counts])
}
