//! Pooling: windows that overlap, leave gaps or cover everything, with every extreme of the
//! padding.

use super::{Family, Named, layouts};
use crate::case::{Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, values};
use isobit_hal::{Op, Pool2d};

pub(super) struct PoolFamily;

impl Family for PoolFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let kernel = params.sizes("kernel").unwrap_or([2, 2]);
        let pool = Pool2d::new(kernel)
            .with_stride(params.sizes("stride").unwrap_or(kernel))
            .with_padding(params.sizes("padding").unwrap_or([0, 0]))
            .with_count_include_pad(params.flag("count_include_pad"));
        if matches!(op, Op::AvgPool2d(_)) { Op::AvgPool2d(pool) } else { Op::MaxPool2d(pool) }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let (mut shape, mut params) = (planes(draw), [[0; 2]; 3]);
        // Most networks use adjacent two-by-two windows, which have their own kernels.
        let twos = index % 4 == 2;
        for d in 0..2 {
            let size: usize = draw.one_of(&[1, 2, 3, 5, 8, 14, 16, 17, 31, 33, 56, 64, 65, 127]);
            let kernel = draw.one_of(&[1, 2, 2, 3, 3, 5, 7, 11, size, size.div_ceil(2), size + size / 2]);
            // The widest window spans from padding to padding; half of it may lie in the padding.
            let kernel = kernel.min(2 * size);
            let least = (kernel.saturating_sub(size)).div_ceil(2);
            let padding = if draw.chance(50) { least } else { draw.pick(least..=kernel / 2) };
            let stride = match draw.pick(0..4) {
                0 => kernel,
                1 => 1,
                _ => draw.pick(1..=kernel + 3),
            };
            let whole = if twos { [2, 2, 0] } else { [kernel, stride, padding] };
            shape.push(if twos { size.max(2) & !1 } else { size });
            for (param, value) in params.iter_mut().zip(whole) {
                param[d] = value;
            }
        }
        let [kernel, stride, padding] = params;
        let named = Named::default()
            .with_sizes("kernel", &kernel)
            .with_sizes("stride", &stride)
            .with_sizes("padding", &padding)
            .with_sizes("count_include_pad", &[usize::from(draw.chance(50))]);
        pooled(draw, cell, plan, shape, named)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], _input: usize) -> Option<Values> {
        let averages = matches!(op, Op::AvgPool2d(_));
        let dist = if averages { values::accumulated(draw) } else { values::general(draw) };
        Some(values::of(draw, dist))
    }
}

/// Draws the images and channels of a case, sometimes none.
pub(super) fn planes(draw: &mut Draw) -> Vec<usize> {
    let mut planes = vec![draw.one_of(&[1, 1, 2, 3]), draw.one_of(&[1, 2, 3, 5])];
    if draw.chance(4) {
        let none = draw.pick(0..2usize);
        planes[none] = 0;
    }
    planes
}

/// Returns the case with layouts for its operands.
pub(super) fn pooled(draw: &mut Draw, cell: &Cell, plan: &Plan, shape: Vec<usize>, named: Named) -> Drawn {
    let params = Params::Named(named);
    let result = cell.operation.operand_dims(&cell.operation.with_params(&cell.dtypes, &params), &shape, 1);
    let layouts = layouts(draw, plan, std::slice::from_ref(&shape), &result);
    (shape, Some(params), layouts)
}
