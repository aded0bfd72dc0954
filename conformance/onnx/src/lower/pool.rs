//! Pooling.

use super::windows::{Windows, kernel_of, spatial};
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{DType, Indexing, Op, Pool2d, Powf, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[
    ("MaxPool", Rule::Code(max_pool)),
    ("AveragePool", Rule::Code(average_pool)),
    ("LpPool", Rule::Code(lp_pool)),
    ("GlobalMaxPool", Rule::Code(|call| global(call, ReduceOp::Max))),
    ("GlobalAveragePool", Rule::Code(|call| global(call, ReduceOp::Mean))),
];

fn global(call: &Call<'_>, op: ReduceOp) -> Outputs {
    let x = call.input(0)?;
    let dims: Vec<usize> = (2..x.rank()).collect();
    Ok(vec![call.ops().reduce(op, x, &dims)?])
}

/// Returns the windows of the HAL's own pooling, if it has these; one dimension becomes two.
fn pool2d(windows: &Windows, input: &[usize]) -> Option<Pool2d> {
    let plain = windows.dilation.iter().all(|&step| step == 1) && windows.is_symmetric();
    let halves = windows.before.iter().zip(&windows.kernel).all(|(&padding, &kernel)| 2 * padding <= kernel);
    if input.is_empty() || input.len() > 2 || !plain || !halves || !windows.fit_padding(input) {
        return None;
    }
    let pair = |sizes: &[usize], first| if let [a, b] = *sizes { [a, b] } else { [first, sizes[0]] };
    let op = Pool2d::new(pair(&windows.kernel, 1)).with_stride(pair(&windows.stride, 1));
    Some(op.with_padding(pair(&windows.before, 0)))
}

/// Runs the HAL's own pooling.
fn pooled(ops: &Ops, op: &Op, x: &Tensor, shape: &[usize]) -> Lowered<Tensor> {
    let x = if x.rank() == 3 { x.unsqueeze(2)? } else { x.clone() };
    ops.reshape(&ops.apply(op, &[&x])?, shape)
}

fn shape_of(x: &Tensor, windows: &Windows) -> Vec<usize> {
    [&x.dims()[..2], &windows.output].concat()
}

fn max_pool(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let input = spatial(x)?;
    let windows = Windows::of(call, input, kernel_of(call, &[])?)?;
    let shape = shape_of(x, &windows);
    if let (Some(op), false) = (pool2d(&windows, input), call.wants(1)) {
        return Ok(vec![pooled(ops, &Op::MaxPool2d(op), x, &shape)?]);
    }
    let gathered = windows.gather(ops, x, f64::NEG_INFINITY)?;
    let largest = ops.reshape(&ops.reduce(ReduceOp::Max, &gathered, &[2])?, &shape)?;
    if !call.wants(1) {
        return Ok(vec![largest]);
    }
    // The position in the window selects the position in the image, to which that of the image in
    // the whole tensor is added.
    let chosen = ops.reduce(ReduceOp::ArgMax, &gathered, &[2])?;
    let size: usize = input.iter().product();
    let column_major = call.flag("storage_order");
    let places: Vec<i64> = windows
        .sources(input)
        .into_iter()
        .map(|at| at.map_or(0, |at| if column_major { turned(at, input) } else { at }) as i64)
        .collect();
    let table = ops.ints(&[1, places.len() / windows.taps(), windows.taps()], &places)?.broadcast(gathered.dims())?;
    let within = ops.apply(&Op::Gather(Indexing::new(2)), &[&table, &chosen])?;
    let rows = gathered.dims()[0];
    let starts = ops.affine(&ops.iota(DType::I64, rows)?, size as f64, 0.0)?;
    let positions = ops.add(&within, &ops.reshape(&starts, &[rows, 1, 1])?)?;
    Ok(vec![largest, ops.reshape(&positions, &shape)?])
}

/// Returns the column-major position of a row-major one.
fn turned(at: usize, sizes: &[usize]) -> usize {
    let (mut rest, mut position, mut stride) = (at, 0, sizes.iter().product::<usize>());
    for &size in sizes.iter().rev() {
        stride /= size;
        position += rest % size * stride;
        rest /= size;
    }
    position
}

fn average_pool(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let input = spatial(x)?;
    let windows = Windows::of(call, input, kernel_of(call, &[])?)?;
    let (shape, counts_padding) = (shape_of(x, &windows), call.flag("count_include_pad"));
    if let Some(op) = pool2d(&windows, input) {
        return Ok(vec![pooled(ops, &Op::AvgPool2d(op.with_count_include_pad(counts_padding)), x, &shape)?]);
    }
    let sums = ops.reduce(ReduceOp::Sum, &windows.gather(ops, x, 0.0)?, &[2])?;
    let counts: Vec<f64> = windows.counts(input, counts_padding).into_iter().map(|count| count as f64).collect();
    let counts = ops.values(x.dtype(), &[1, counts.len(), 1], &counts)?;
    Ok(vec![ops.reshape(&ops.div(&sums, &counts)?, &shape)?])
}

/// The root of order p of the sum of |x|^p.
fn lp_pool(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let windows = Windows::of(call, spatial(x)?, kernel_of(call, &[])?)?;
    let p = call.int("p").unwrap_or(2) as f64;
    let power = |x: &Tensor, exponent| ops.apply(&Op::Powf(Powf::new(exponent)), &[x]);
    let powers = power(&ops.unary(UnaryOp::Abs, x)?, p)?;
    let sums = ops.reduce(ReduceOp::Sum, &windows.gather(ops, &powers, 0.0)?, &[2])?;
    Ok(vec![ops.reshape(&power(&sums, 1.0 / p)?, &shape_of(x, &windows))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_turn_to_column_major() {
        // numpy.ravel_multi_index(numpy.unravel_index(i, (2, 3)), (2, 3), order="F")
        let turned: Vec<usize> = (0..6).map(|at| turned(at, &[2, 3])).collect();
        assert_eq!(turned, [0, 2, 4, 1, 3, 5]);
    }
}
