//! Resizing: sizes that grow, shrink and stay, every rule for positions, and scales that are not
//! ratios of the sizes.
//!
//! The shape of a case is that of the image.

use super::pooling::{planes, pooled};
use super::{Family, Named};
use crate::case::Params;
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan};
use isobit_hal::{Coordinates, Interpolation, NearestMode, Op, Resize};

pub(super) struct ResizeFamily;

const NEAREST: [NearestMode; 4] =
    [NearestMode::RoundPreferFloor, NearestMode::RoundPreferCeil, NearestMode::Floor, NearestMode::Ceil];

fn mode_of(op: &Op) -> Interpolation {
    match op {
        Op::Resize(op) => op.mode,
        other => unreachable!("{other} is another family's"),
    }
}

fn sizes(params: &Params, name: &str) -> Vec<usize> {
    params.numbers(name).into_iter().map(|n| n as usize).collect()
}

/// Returns the rule with a number; the region is by start and end of each dimension.
fn coordinates(number: usize, region: &[f64]) -> Coordinates {
    match number {
        1 => Coordinates::PytorchHalfPixel,
        2 => Coordinates::HalfPixelSymmetric,
        3 => Coordinates::AlignCorners,
        4 => Coordinates::Asymmetric,
        5 => Coordinates::CropAndResize(region.chunks_exact(2).map(|ends| [ends[0], ends[1]]).collect()),
        _ => Coordinates::HalfPixel,
    }
}

impl Family for ResizeFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let size = sizes(params, "size");
        let mut of = Resize::new(if size.is_empty() { &[1] } else { &size }, mode_of(op))
            .with_coordinates(coordinates(params.size("coordinates"), &params.numbers("region")))
            .with_nearest(NEAREST[params.size("nearest") % 4])
            .with_antialias(params.flag("antialias"))
            .with_exclude_outside(params.flag("exclude_outside"))
            .with_extrapolation(params.number("extrapolation"));
        if params.flag("cubic_coeff") {
            of = of.with_cubic_coeff(params.number("cubic_coeff"));
        }
        let scale = params.numbers("scale");
        Op::Resize(if scale.is_empty() { of } else { of.with_scale(&scale) })
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let is_nearest = mode_of(cell.operation.op()) == Interpolation::Nearest;
        let is_antialiased = !is_nearest && index % 3 == 1;
        let spatial = draw.one_of(&[1, 2, 2, 3]);
        let mut shape = planes(draw);
        if index % 8 == 6 {
            // Groups of channels, and a rest.
            shape[1] = draw.one_of(&[17, 35]);
        }
        let (mut size, mut scale, mut region) = (Vec::new(), Vec::new(), Vec::new());
        let given = draw.chance(35);
        for _ in 0..spatial {
            let wide: &[usize] = if spatial == 3 { &[1, 2, 3, 5] } else { &[1, 2, 3, 5, 8, 13, 21] };
            let from = draw.one_of(wide);
            let to = match draw.pick(0..6) {
                0 | 1 => 2 * from,
                2 => from,
                3 => (from / 2).max(1),
                4 if draw.chance(15) => 0,
                _ => draw.pick(1..=if spatial == 3 { 6 } else { 24usize }),
            };
            // With antialiasing, half an element has to stay.
            let least = if is_antialiased { 0.55 / from as f64 } else { 0.1 };
            shape.push(from);
            size.push(to);
            let ratio = to.max(1) as f64 / from as f64;
            scale.push(if draw.chance(50) { ratio } else { draw.pick(least..least + 4.0) });
            region.extend([draw.pick(-0.3..0.6f64), draw.pick(0.4..1.4f64)]);
        }
        let mut named = Named::default()
            .with_sizes("size", &size)
            .with_sizes("coordinates", &[draw.pick(0..6usize)])
            .with("region", &region)
            .with("extrapolation", &[draw.one_of(&[0.0, 10.0, -1.5])]);
        if given {
            named = named.with("scale", &scale);
        }
        named = if is_nearest {
            named.with_sizes("nearest", &[draw.pick(0..4usize)])
        } else {
            named
                .with_sizes("antialias", &[usize::from(is_antialiased)])
                .with_sizes("exclude_outside", &[usize::from(draw.chance(40))])
                .with("cubic_coeff", &[draw.one_of(&[-0.75, -0.5, -0.6])])
        };
        pooled(draw, cell, plan, shape, named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::Family as F;
    use std::collections::BTreeSet;

    #[test]
    fn cells_meet_every_rule() {
        for cell in Cell::all().iter().filter(|c| c.operation.op().family() == F::Resize) {
            let mut met = BTreeSet::new();
            for case in crate::generate::full(cell) {
                assert!(cell.operation.is_well_formed(&cell.dtypes, &case), "{cell}: {case:?}");
                let Op::Resize(op) = case.op(cell) else { unreachable!("of the family") };
                let name = format!("{:?}", op.coordinates);
                met.insert(name.split('(').next().unwrap_or_default().to_string());
                met.insert(format!("{} dimensions", op.size.len()));
                met.insert(format!("{:?}", op.nearest));
                if op.mode != Interpolation::Nearest {
                    let rest = if op.exclude_outside { "without" } else { "with" };
                    met.insert(format!("{} {rest} outside", if op.antialias { "antialiased" } else { "plain" }));
                }
            }
            let rules = if mode_of(cell.operation.op()) == Interpolation::Nearest { 4 } else { 1 + 4 };
            assert_eq!(met.len(), 6 + 3 + rules, "{cell}: {met:?}");
        }
    }
}
