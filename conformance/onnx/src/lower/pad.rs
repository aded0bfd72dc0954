//! Padding and cropping.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use crate::tensor::axis_of;

pub(super) const TABLE: Table = &[("Pad", Rule::Code(pad)), ("CenterCropPad", Rule::Code(center_crop_pad))];

/// Returns the position that an element of a padded axis comes from, for positions before and after
/// the axis too.
fn mirrored(at: i64, size: i64, mode: &str) -> Option<i64> {
    Some(match mode {
        "edge" => at.clamp(0, size - 1),
        "wrap" => at.rem_euclid(size),
        // Without the ends, a period goes there and back.
        "reflect" if size == 1 => 0,
        "reflect" => {
            let at = at.rem_euclid(2 * size - 2);
            at.min(2 * size - 2 - at)
        }
        _ => return None,
    })
}

/// Negative padding crops.
fn pad(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let pads = match call.optional(1)? {
        Some(pads) => ops.to_ints(pads)?,
        None => call.ints("pads").unwrap_or_default().to_vec(),
    };
    let axes = match call.optional(3)? {
        Some(axes) => ops.to_ints(axes)?.into_iter().map(|axis| axis_of(axis, x.rank())).collect::<Lowered<_>>()?,
        None => (0..x.rank()).collect::<Vec<_>>(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Stop::Failed(format!("{pads:?} is no padding of the axes {axes:?}")));
    }
    let mode = call.text("mode", "constant");
    let mut padded = x.clone();
    let (mut before, mut after) = (vec![0; x.rank()], vec![0; x.rank()]);
    for (i, &axis) in axes.iter().enumerate() {
        let (low, high) = (pads[i], pads[i + axes.len()]);
        let size = x.dims()[axis] as i64;
        if mode != "constant" && size > 0 {
            let positions: Option<Vec<i64>> = (-low..size + high).map(|at| mirrored(at, size, mode)).collect();
            let positions = positions.ok_or_else(|| call.unknown("mode", mode))?;
            let positions: Vec<usize> = positions.into_iter().map(size_of).collect::<Lowered<_>>()?;
            padded = ops.pick(&padded, axis, &positions)?;
            continue;
        }
        let (cut_low, cut_high) = ((-low).max(0), (-high).max(0));
        padded = padded.narrow(axis, size_of(cut_low)?, size_of(size - cut_low - cut_high)?)?;
        (before[axis], after[axis]) = (size_of(low.max(0))?, size_of(high.max(0))?);
    }
    let value = match call.optional(2)? {
        Some(value) => ops.to_float(value)?,
        None => call.float("value").unwrap_or(0.0),
    };
    Ok(vec![ops.pad(&padded, &before, &after, value)?])
}

/// An odd rest goes after the tensor when it is padded, and is cut after it when it is cropped.
fn center_crop_pad(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let wanted = ops.to_ints(call.input(1)?)?;
    let axes: Vec<i64> = call.ints("axes").map_or_else(|| (0..x.rank() as i64).collect(), <[i64]>::to_vec);
    let mut result = x.clone();
    for (axis, wanted) in axes.into_iter().zip(wanted) {
        let (axis, wanted) = (axis_of(axis, x.rank())?, size_of(wanted)?);
        let size = x.dims()[axis];
        if wanted <= size {
            result = result.narrow(axis, (size - wanted) / 2, wanted)?;
        } else {
            let (mut before, mut after) = (vec![0; x.rank()], vec![0; x.rank()]);
            before[axis] = (wanted - size) / 2;
            after[axis] = wanted - size - before[axis];
            result = ops.pad(&result, &before, &after, 0.0)?;
        }
    }
    Ok(vec![result])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_repeats_as_in_numpy() {
        // numpy.pad([0, 1, 2], 4, mode): edge, reflect, wrap.
        let padded = |mode| (-4..7).map(|at| mirrored(at, 3, mode).unwrap()).collect::<Vec<_>>();
        assert_eq!(padded("edge"), [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]);
        assert_eq!(padded("reflect"), [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]);
        assert_eq!(padded("wrap"), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(mirrored(-3, 1, "reflect"), Some(0));
        assert_eq!(mirrored(0, 3, "other"), None);
    }
}
