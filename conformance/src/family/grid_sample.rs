//! Sampling at positions of a grid: on elements, between them and far outside the image, in images
//! of one element and more.
//!
//! The shape of a case is that of the image, followed by the dimensions of the grid's positions.

use super::pooling::planes;
use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, values};
use isobit_hal::{DType, GridPadding, GridSample, Interpolation, Op};

pub(super) struct GridSampleFamily;

const MODES: [Interpolation; 3] = [Interpolation::Linear, Interpolation::Nearest, Interpolation::Cubic];
const PADDINGS: [GridPadding; 3] = [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection];

/// Returns the dimensions of the image and those of the positions. A shape that was changed while a
/// case shrank may have one of each less.
fn split(shape: &[usize]) -> (&[usize], &[usize]) {
    shape.split_at(shape.len().min(2) + shape.len().saturating_sub(2) / 2)
}

impl Family for GridSampleFamily {
    fn with_params(&self, _op: &Op, params: &Params) -> Op {
        let of = GridSample::new()
            .with_mode(MODES[params.size("mode") % 3])
            .with_padding(PADDINGS[params.size("padding") % 3])
            .with_align_corners(params.flag("align_corners"));
        Op::GridSample(of)
    }

    fn dtypes(&self, _op: &Op) -> Vec<Vec<DType>> {
        let floats = DType::ALL.iter().copied().filter(|dtype| dtype.is_float());
        let of = |dtype: DType| {
            let with_f32 = (dtype != DType::F32).then_some(DType::F32);
            [Some(dtype), with_f32].into_iter().flatten().map(move |grid| vec![dtype, grid, dtype])
        };
        floats.flat_map(of).collect()
    }

    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0, 1]
    }

    fn input_dims(&self, _op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let (image, positions) = split(shape);
        if input == 0 {
            return image.to_vec();
        }
        [&shape[..shape.len().min(1)], positions, &[image.len().saturating_sub(2)]].concat()
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        // Every combination of mode and padding, in images of two and of three dimensions.
        let (spatial, modes, nth) = if index % 4 == 3 { (3, 2, index / 4) } else { (2, 3, index - index / 4) };
        let (mode, padding) = ((nth % modes) as usize, (nth / modes % 3) as usize);
        let mut shape = planes(draw);
        if index % 8 == 6 {
            // Groups of channels, and a rest.
            shape[1] = draw.one_of(&[17, 35]);
        }
        shape.extend((0..spatial).map(|_| draw.one_of(&[1, 2, 3, 5, 8, 13])));
        let most: &[usize] = if spatial == 3 { &[1, 2, 3, 5] } else { &[1, 2, 7, 12, 33] };
        shape.extend((0..spatial).map(|_| if draw.chance(2) { 0 } else { draw.one_of(most) }));
        let named = Named::default()
            .with_sizes("mode", &[mode])
            .with_sizes("padding", &[padding])
            .with_sizes("align_corners", &[draw.pick(0..2usize)]);
        let params = Params::Named(named);
        let op = cell.operation.with_params(&cell.dtypes, &params);
        let dims = [0, 1].map(|input| self.input_dims(&op, &shape, input));
        let result = cell.operation.operand_dims(&op, &shape, 2);
        let layouts = layouts(draw, plan, &dims, &result);
        (shape, Some(params), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, _op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        if input == 0 {
            return None;
        }
        let dist = match draw.pick(0..10) {
            // Within the image, and around it.
            0..4 => Dist::Uniform { scale: 0 },
            4 | 5 => Dist::Uniform { scale: 1 },
            // On elements and halfway between them.
            6 => Dist::Levels,
            7 => Dist::Few,
            8 => Dist::Uniform { scale: draw.pick(2..9) },
            _ => values::general(draw),
        };
        Some(values::of(draw, dist))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::Family as F;
    use std::collections::BTreeSet;

    #[test]
    fn cells_meet_every_mode_padding_and_number_of_dimensions() {
        for cell in Cell::all().iter().filter(|c| c.operation.op().family() == F::GridSample) {
            let mut met = BTreeSet::new();
            for case in crate::generate::full(cell) {
                assert!(cell.operation.is_well_formed(&cell.dtypes, &case), "{cell}: {case:?}");
                let Op::GridSample(op) = case.op(cell) else { unreachable!("of the family") };
                met.insert((format!("{:?} {:?}", op.mode, op.padding), split(&case.shape).1.len()));
            }
            assert_eq!(met.len(), 15, "{cell}: {met:?}");
        }
    }
}
