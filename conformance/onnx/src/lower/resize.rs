//! Resizing: an operation of the HAL on up to three dimensions, which are moved to the end.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of};
use isobit::{Coordinates, Interpolation, NearestMode, Op, Resize};

pub(super) const TABLE: Table = &[("Resize", Rule::Code(resize)), ("Upsample", Rule::Code(upsample))];

/// The dimensions that an operation of the HAL resizes.
const MOST: usize = 3;

/// The sizes and the scales of the result.
fn target(call: &Call<'_>, x: &Tensor, axes: &[usize]) -> Lowered<(Vec<usize>, Vec<f64>)> {
    let ops = call.ops();
    let (mut sizes, mut scales) = (x.dims().to_vec(), vec![1.0; x.rank()]);
    if let Some(given) = call.optional(2)?.filter(|given| !given.is_empty()) {
        for (&axis, scale) in axes.iter().zip(ops.to_floats(given)?) {
            scales[axis] = scale;
            sizes[axis] = (scale * x.dims()[axis] as f64).floor() as usize;
        }
        return Ok((sizes, scales));
    }
    for (&axis, size) in axes.iter().zip(ops.to_ints(call.input(3)?)?) {
        sizes[axis] = size_of(size)?;
        scales[axis] = sizes[axis] as f64 / x.dims()[axis] as f64;
    }
    let of_axes = axes.iter().map(|&axis| scales[axis]);
    let scale = match call.text("keep_aspect_ratio_policy", "stretch") {
        "stretch" => return Ok((sizes, scales)),
        "not_larger" => of_axes.fold(f64::INFINITY, f64::min),
        "not_smaller" => of_axes.fold(0.0, f64::max),
        other => return Err(call.unknown("keep_aspect_ratio_policy", other)),
    };
    for &axis in axes {
        scales[axis] = scale;
        sizes[axis] = (scale * x.dims()[axis] as f64 + 0.5).floor() as usize;
    }
    Ok((sizes, scales))
}

/// Resizes axes of a tensor to the sizes that it has not yet. `of` makes the operation for some of
/// the axes, by their places in the list, and their sizes.
fn resized(
    ops: &Ops,
    x: &Tensor,
    axes: &[(usize, usize)],
    of: impl Fn(&[usize], &[usize]) -> Resize,
) -> Lowered<Tensor> {
    let mut y = x.clone();
    let places: Vec<usize> = (0..axes.len()).collect();
    for places in places.chunks(MOST) {
        let (moved, sizes): (Vec<usize>, Vec<usize>) = places.iter().map(|&place| axes[place]).unzip();
        let kept: Vec<usize> = (0..y.rank()).filter(|axis| !moved.contains(axis)).collect();
        let order = [&kept[..], &moved].concat();
        let image = y.permute(&order)?;
        let (outer, inner) = image.dims().split_at(kept.len());
        let shape = [&[1, outer.iter().product()][..], inner].concat();
        let small = ops.apply(&Op::Resize(of(places, &sizes)), &[&ops.reshape(&image, &shape)?])?;
        let back: Vec<usize> = (0..order.len()).filter_map(|axis| order.iter().position(|&at| at == axis)).collect();
        y = ops.reshape(&small, &[outer, &sizes].concat())?.permute(&back)?;
    }
    Ok(y)
}

fn mode_of(call: &Call<'_>) -> Lowered<Interpolation> {
    Ok(match call.text("mode", "nearest") {
        "nearest" => Interpolation::Nearest,
        "linear" => Interpolation::Linear,
        "cubic" => Interpolation::Cubic,
        other => return Err(call.unknown("mode", other)),
    })
}

fn resize(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axes: Vec<usize> = match call.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, x.rank())).collect::<Lowered<_>>()?,
        None => (0..x.rank()).collect(),
    };
    let (sizes, scales) = target(call, x, &axes)?;
    let region = match call.optional(1)?.filter(|region| !region.is_empty()) {
        Some(region) => ops.to_floats(region)?,
        None => [vec![0.0; axes.len()], vec![1.0; axes.len()]].concat(),
    };
    if region.len() != 2 * axes.len() {
        return Err(Stop::Failed(format!("{region:?} is no region of {} axes", axes.len())));
    }
    let ends = |at: usize| [region[at], region[at + axes.len()]];
    let changes = |&at: &usize| {
        let axis = axes[at];
        scales[axis] != 1.0 || sizes[axis] != x.dims()[axis] || ends(at) != [0.0, 1.0]
    };
    let changing: Vec<usize> = (0..axes.len()).filter(changes).collect();
    let rule = match call.text("coordinate_transformation_mode", "half_pixel") {
        "half_pixel" => Coordinates::HalfPixel,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "tf_crop_and_resize" => Coordinates::CropAndResize(Default::default()),
        other => return Err(call.unknown("coordinate_transformation_mode", other)),
    };
    let nearest = match call.text("nearest_mode", "round_prefer_floor") {
        "round_prefer_floor" => NearestMode::RoundPreferFloor,
        "round_prefer_ceil" => NearestMode::RoundPreferCeil,
        "floor" => NearestMode::Floor,
        "ceil" => NearestMode::Ceil,
        other => return Err(call.unknown("nearest_mode", other)),
    };
    let mode = mode_of(call)?;
    let of = |places: &[usize], size: &[usize]| {
        let of_axes: Vec<usize> = places.iter().map(|&place| changing[place]).collect();
        let coordinates = match &rule {
            Coordinates::CropAndResize(_) => Coordinates::CropAndResize(of_axes.iter().map(|&at| ends(at)).collect()),
            rule => rule.clone(),
        };
        Resize::new(size, mode)
            .with_scale(&of_axes.iter().map(|&at| scales[axes[at]]).collect::<Vec<_>>())
            .with_coordinates(coordinates)
            .with_nearest(nearest)
            .with_cubic_coeff(call.float("cubic_coeff_a").unwrap_or(-0.75))
            .with_antialias(call.flag("antialias"))
            .with_exclude_outside(call.flag("exclude_outside"))
            .with_extrapolation(call.float("extrapolation_value").unwrap_or(0.0))
    };
    let to: Vec<(usize, usize)> = changing.iter().map(|&at| (axes[at], sizes[axes[at]])).collect();
    Ok(vec![resized(ops, x, &to, of)?])
}

fn upsample(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let scales = ops.to_floats(call.input(1)?)?;
    if scales.len() != x.rank() {
        return Err(Stop::Failed(format!("{scales:?} are no scales of {:?}", x.dims())));
    }
    let changing: Vec<usize> = (0..x.rank()).filter(|&axis| scales[axis] != 1.0).collect();
    let size = |&axis: &usize| (axis, (scales[axis] * x.dims()[axis] as f64).floor() as usize);
    let to: Vec<(usize, usize)> = changing.iter().map(size).collect();
    let mode = mode_of(call)?;
    let of = |places: &[usize], size: &[usize]| {
        Resize::new(size, mode)
            .with_scale(&places.iter().map(|&place| scales[changing[place]]).collect::<Vec<_>>())
            .with_coordinates(Coordinates::Asymmetric)
            .with_nearest(NearestMode::Floor)
    };
    Ok(vec![resized(ops, x, &to, of)?])
}
