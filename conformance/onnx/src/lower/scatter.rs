//! Writing elements at positions.

use super::index::flat_positions;
use super::windows::spatial;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{BinaryOp, DType, Op};

pub(super) const TABLE: Table = &[
    ("Scatter", Rule::Code(scatter_elements)),
    ("ScatterElements", Rule::Code(scatter_elements)),
    ("ScatterND", Rule::Code(scatter_nd)),
    ("TensorScatter", Rule::Code(tensor_scatter)),
    ("MaxUnpool", Rule::Code(max_unpool)),
];

/// Writes the elements of `src` at the positions `ids` of a dimension, both of one shape. With a
/// function, the elements there are combined with the new ones, one slice of `src` after another:
/// the positions within a slice differ, as its elements differ in the other dimensions.
fn write(ops: &Ops, x: &Tensor, ids: &Tensor, src: &Tensor, dim: usize, combine: Option<BinaryOp>) -> Lowered<Tensor> {
    let written = match combine {
        None => ops.apply(&Op::ScatterSet { dim }, &[x, ids, src])?,
        Some(BinaryOp::Add) => ops.apply(&Op::ScatterAdd { dim }, &[x, ids, src])?,
        Some(op) => {
            let mut x = x.clone();
            for at in 0..ids.dims()[dim] {
                let (ids, src) = (ids.narrow(dim, at, 1)?, src.narrow(dim, at, 1)?);
                let there = ops.apply(&Op::Gather { dim }, &[&x, &ids])?;
                let both = ops.binary(op, &there, &src)?;
                x = ops.apply(&Op::ScatterSet { dim }, &[&x, &ids, &both])?;
            }
            x
        }
    };
    Ok(written.of(x.element().kind))
}

/// Returns the function that an attribute names.
fn reduction(call: &Call<'_>) -> Lowered<Option<BinaryOp>> {
    Ok(match call.text("reduction", "none") {
        "none" => None,
        "add" => Some(BinaryOp::Add),
        "mul" => Some(BinaryOp::Mul),
        "max" => Some(BinaryOp::Maximum),
        "min" => Some(BinaryOp::Minimum),
        other => return Err(call.unknown("reduction", other)),
    })
}

fn scatter_elements(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let dim = call.axis(0, x.rank())?;
    let ids = ops.positions(call.input(1)?, x.dims()[dim])?;
    Ok(vec![write(ops, x, &ids, call.input(2)?, dim, reduction(call)?)?])
}

fn scatter_nd(call: &Call<'_>) -> Outputs {
    let (ops, x, tuples, updates) = (call.ops(), call.input(0)?, call.input(1)?, call.input(2)?);
    let depth = tuples.dims().last().copied().filter(|&depth| depth <= x.rank());
    let depth = depth.ok_or_else(|| Stop::Failed(format!("{:?} selects nothing of {:?}", tuples.dims(), x.dims())))?;
    let (sizes, slice) = x.dims().split_at(depth);
    let (rows, width): (usize, usize) = (sizes.iter().product(), slice.iter().product());
    let ids = flat_positions(ops, tuples, sizes)?;
    let count = ids.len();
    let src = ops.reshape(updates, &[count, width])?;
    let ids = ids.unsqueeze(1)?.broadcast(&[count, width])?;
    let written = write(ops, &ops.reshape(x, &[rows, width])?, &ids, &src, 0, reduction(call)?)?;
    Ok(vec![ops.reshape(&written, x.dims())?.of(x.element().kind)])
}

/// Writes new entries of a cache, from a position of each batch entry on.
fn tensor_scatter(call: &Call<'_>) -> Outputs {
    let (ops, cache, update) = (call.ops(), call.input(0)?, call.input(1)?);
    let dim = call.axis(-2, cache.rank())?;
    if update.rank() != cache.rank() {
        return Err(Stop::Failed(format!("{:?} does not fit into {:?}", update.dims(), cache.dims())));
    }
    let (count, batch) = (update.dims()[dim], update.dims()[0]);
    let mut shape = vec![1; cache.rank()];
    shape[dim] = count;
    let mut ids = ops.reshape(&ops.iota(DType::I64, count)?, &shape)?;
    if let Some(starts) = call.optional(2)? {
        shape[dim] = 1;
        shape[0] = batch;
        ids = ops.add(&ids, &ops.reshape(&ops.cast(starts, DType::I64)?, &shape)?)?;
    }
    match call.text("mode", "linear") {
        "linear" => {}
        "circular" => {
            let size = ops.scalar(DType::I64, cache.dims()[dim] as f64)?;
            ids = ops.binary(BinaryOp::Rem, &ids, &size)?;
        }
        other => return Err(call.unknown("mode", other)),
    }
    Ok(vec![write(ops, cache, &ids.broadcast(update.dims())?, update, dim, None)?])
}

/// Positions count in the output that the windows determine; a larger one is padded.
fn max_unpool(call: &Call<'_>) -> Outputs {
    let (ops, x, at) = (call.ops(), call.input(0)?, call.input(1)?);
    let spatial = spatial(x)?.len();
    let kernel = call.sizes("kernel_shape", spatial, 1)?;
    let stride = call.sizes("strides", spatial, 1)?;
    let pads = call.sizes("pads", 2 * spatial, 0)?;
    let mut shape = x.dims()[..2].to_vec();
    for d in 0..spatial {
        let size = x.dims()[d + 2].saturating_sub(1) * stride[d] + kernel[d];
        shape.push(size.saturating_sub(pads[d] + pads[d + spatial]));
    }
    let flat = ops.fill(x.dtype(), &[shape.iter().product()], 0.0)?;
    let src = ops.reshape(x, &[x.len()])?;
    let ids = ops.reshape(&ops.cast(at, DType::I64)?, &[at.len()])?;
    let mut unpooled = ops.reshape(&write(ops, &flat, &ids, &src, 0, None)?, &shape)?;
    if let Some(wanted) = call.optional(2)? {
        let wanted = ops.to_ints(wanted)?;
        let after: Vec<usize> =
            wanted.iter().zip(&shape).map(|(&wanted, &size)| (wanted as usize).saturating_sub(size)).collect();
        unpooled = ops.pad(&unpooled, &vec![0; after.len()], &after, 0.0)?;
    }
    Ok(vec![unpooled])
}
