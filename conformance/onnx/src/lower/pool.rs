//! Pooling.

use super::windows::{Windows, kernel_of, spatial};
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::Stop;
use isobit::{DType, Indexing, Op, Pool1d, Pool2d, Pool3d, ReduceOp};

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

/// The HAL's windows of a type.
macro_rules! pool {
    ($type:ident, $windows:ident, $include:expr) => {{
        let sizes = |sizes: &[usize]| sizes.try_into().expect("as many as there are dimensions");
        $type::new(sizes(&$windows.kernel))
            .with_stride(sizes(&$windows.stride))
            .with_dilation(sizes(&$windows.dilation))
            .with_padding_by_side(sizes(&$windows.before), sizes(&$windows.after))
            .with_ceil_mode($windows.ceil)
            .with_count_include_pad($include)
    }};
}

fn too_many(rank: usize) -> Stop {
    Stop::Failed(format!("pooling over {rank} dimensions; the HAL has one to three"))
}

/// Returns the operation of as many dimensions as the windows have.
macro_rules! pooling {
    ($windows:expr, $include:expr, $one:ident $two:ident $three:ident) => {{
        let w = $windows;
        match w.kernel.len() {
            1 => Ok(Op::$one(pool!(Pool1d, w, $include))),
            2 => Ok(Op::$two(pool!(Pool2d, w, $include))),
            3 => Ok(Op::$three(pool!(Pool3d, w, $include))),
            rank => Err(too_many(rank)),
        }
    }};
}

fn max_pool(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let input = spatial(x)?;
    let windows = Windows::of(call, input, kernel_of(call, &[])?)?;
    let largest = ops.apply(&pooling!(&windows, true, MaxPool1d MaxPool2d MaxPool3d)?, &[x])?;
    if !call.wants(1) {
        return Ok(vec![largest]);
    }
    let op = pooling!(&windows, true, ArgMaxPool1d ArgMaxPool2d ArgMaxPool3d)?;
    let mut positions = ops.apply_as(&op, DType::I64, &[x])?;
    let (planes, size): (usize, usize) = (x.dims()[..2].iter().product(), input.iter().product());
    if call.flag("storage_order") {
        let places: Vec<i64> = (0..size).map(|at| turned(at, input) as i64).collect();
        let flat = ops.reshape(&positions, &[positions.dims().iter().product()])?;
        positions = ops.apply(&Op::IndexSelect(Indexing::new(0)), &[&ops.ints(&[size], &places)?, &flat])?;
    }
    // Those in the whole tensor.
    let positions = ops.reshape(&positions, &[planes, windows.output.iter().product()])?;
    let starts = ops.affine(&ops.iota(DType::I64, planes)?, size as f64, 0.0)?;
    let positions = ops.add(&positions, &ops.reshape(&starts, &[planes, 1])?)?;
    let positions = ops.reshape(&positions, largest.dims())?;
    Ok(vec![largest, positions])
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
    let include = call.flag("count_include_pad");
    Ok(vec![ops.apply(&pooling!(&windows, include, AvgPool1d AvgPool2d AvgPool3d)?, &[x])?])
}

fn lp_pool(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let windows = Windows::of(call, spatial(x)?, kernel_of(call, &[])?)?;
    let p = call.int("p").unwrap_or(2) as f64;
    let w = &windows;
    let norms = match w.kernel.len() {
        1 => pool!(Pool1d, w, true).lp(p),
        2 => pool!(Pool2d, w, true).lp(p),
        3 => pool!(Pool3d, w, true).lp(p),
        rank => return Err(too_many(rank)),
    };
    Ok(vec![ops.apply(&Op::LpPool(norms), &[x])?])
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
