//! Writing elements at positions.

use super::index::ids;
use super::windows::spatial;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use isobit::{BinaryOp, DType, Indexing, Op, ScatterNd, ScatterOp, ScatterReduce};

pub(super) const TABLE: Table = &[
    ("Scatter", Rule::Code(scatter_elements)),
    ("ScatterElements", Rule::Code(scatter_elements)),
    ("ScatterND", Rule::Code(scatter_nd)),
    ("TensorScatter", Rule::Code(tensor_scatter)),
    ("MaxUnpool", Rule::Code(max_unpool)),
];

/// Returns the function that an attribute names.
fn reduction(call: &Call<'_>) -> Lowered<ScatterOp> {
    Ok(match call.text("reduction", "none") {
        "none" => ScatterOp::Set,
        "add" => ScatterOp::Add,
        "mul" => ScatterOp::Prod,
        "max" => ScatterOp::Amax,
        "min" => ScatterOp::Amin,
        other => return Err(call.unknown("reduction", other)),
    })
}

fn scatter_elements(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let dim = call.axis(0, x.rank())?;
    let op = Op::ScatterReduce(ScatterReduce::new(reduction(call)?, dim).with_negative_ids());
    Ok(vec![ops.apply(&op, &[x, &ids(ops, call.input(1)?)?, call.input(2)?])?.of(x.element().kind)])
}

fn scatter_nd(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let op = Op::ScatterNd(ScatterNd::new(reduction(call)?).with_negative_ids());
    Ok(vec![ops.apply(&op, &[x, &ids(ops, call.input(1)?)?, call.input(2)?])?.of(x.element().kind)])
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
    let op = Op::ScatterSet(Indexing::new(dim));
    let written = ops.apply(&op, &[cache, &ids.broadcast(update.dims())?, update])?;
    Ok(vec![written.of(cache.element().kind)])
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
    let written = ops.apply(&Op::ScatterSet(Indexing::new(0)), &[&flat, &ids, &src])?;
    let mut unpooled = ops.reshape(&written, &shape)?;
    if let Some(wanted) = call.optional(2)? {
        let wanted = ops.to_ints(wanted)?;
        let after: Vec<usize> =
            wanted.iter().zip(&shape).map(|(&wanted, &size)| (wanted as usize).saturating_sub(size)).collect();
        unpooled = ops.pad(&unpooled, &vec![0; after.len()], &after, 0.0)?;
    }
    Ok(vec![unpooled])
}
