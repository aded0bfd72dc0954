//! Sampling an image at positions that a tensor has: an operation of the HAL, and what other nodes
//! that sample are composed of.

use super::windows::{coordinates, spatial};
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{Clamp, CmpOp, DType, GridPadding, GridSample, Indexing, Interpolation, Op, UnaryOp};

pub(super) const TABLE: Table = &[("GridSample", Rule::Code(grid_sample))];

fn grid_sample(call: &Call<'_>) -> Outputs {
    let (ops, x, grid) = (call.ops(), call.input(0)?, call.input(1)?);
    let mode = match call.text("mode", "linear") {
        "nearest" => Interpolation::Nearest,
        // With the names of version 16 of the operators.
        "linear" | "bilinear" => Interpolation::Linear,
        "cubic" | "bicubic" => Interpolation::Cubic,
        other => return Err(call.unknown("mode", other)),
    };
    let padding = match call.text("padding_mode", "zeros") {
        "zeros" => GridPadding::Zeros,
        "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection,
        other => return Err(call.unknown("padding_mode", other)),
    };
    let op = GridSample::new().with_mode(mode).with_padding(padding).with_align_corners(call.flag("align_corners"));
    let dtype = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    Ok(vec![ops.apply(&Op::GridSample(op), &[x, &ops.cast(grid, dtype)?])?])
}

/// An element of the neighbourhood of positions in one dimension, and its weights. A weight of 0
/// stands for an element outside the image.
pub(super) struct Tap {
    pub at: Tensor,
    pub weight: Tensor,
}

/// Returns the two elements of a dimension around positions that are counted in elements, with
/// zeros outside.
pub(super) fn around(ops: &Ops, x: &Tensor, size: usize) -> Lowered<Vec<Tap>> {
    let low = ops.unary(UnaryOp::Floor, x)?;
    let rest = ops.sub(x, &low)?;
    let tap = |at: &Tensor, weight: &Tensor| -> Lowered<Tap> {
        let inside = ops.apply(&Op::Clamp(Clamp::new(0.0, size as f64 - 1.0)), &[at])?;
        let is_inside = ops.cast(&ops.compare(CmpOp::Eq, at, &inside)?, at.dtype())?;
        Ok(Tap { at: inside, weight: ops.mul(weight, &is_inside)? })
    };
    Ok(vec![tap(&low, &ops.affine(&rest, -1.0, 1.0)?)?, tap(&ops.affine(&low, 1.0, 1.0)?, &rest)?])
}

/// Returns the elements of an image `[n, c, ..]` around each of some points, times their weights:
/// one `[n, c, points]` for each combination of the taps, which are `[n, 1, points]` by dimension.
pub(super) fn weighted(ops: &Ops, x: &Tensor, taps: &[Vec<Tap>]) -> Lowered<Vec<Tensor>> {
    let image = spatial(x)?;
    let (batch, channels) = (x.dims()[0], x.dims()[1]);
    let flat = ops.reshape(x, &[batch, channels, image.iter().product()])?;
    let value = |chosen: Vec<usize>| {
        let mut found: Option<(Tensor, Tensor)> = None;
        for ((taps, &size), tap) in taps.iter().zip(image).zip(chosen) {
            let (along, weight) = (ops.cast(&taps[tap].at, DType::I64)?, &taps[tap].weight);
            found = Some(match found {
                Some((at, so_far)) => {
                    (ops.add(&ops.affine(&at, size as f64, 0.0)?, &along)?, ops.mul(&so_far, weight)?)
                }
                None => (along, weight.clone()),
            });
        }
        let none = || Stop::Failed("an image without dimensions has no samples".into());
        let (at, weight) = found.ok_or_else(none)?;
        let ids = at.broadcast(&[batch, channels, at.dims()[2]])?;
        ops.mul(&ops.apply(&Op::Gather(Indexing::new(2)), &[&flat, &ids])?, &weight)
    };
    coordinates(&taps.iter().map(Vec::len).collect::<Vec<_>>()).into_iter().map(value).collect()
}

/// Combines tensors, one after the other.
pub(super) fn folded(values: Vec<Tensor>, combine: impl FnMut(Tensor, Tensor) -> Lowered<Tensor>) -> Lowered<Tensor> {
    let mut values = values.into_iter();
    let first = values.next().ok_or_else(|| Stop::Failed("there is nothing to combine".into()))?;
    values.try_fold(first, combine)
}
