//! Upsampling: sizes that grow, shrink or stay, factors that are not ratios of the sizes, and
//! corners aligned or not.

use super::pooling::{planes, pooled};
use super::{Family, Named};
use crate::case::Params;
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan};
use isobit_hal::{Op, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d};

pub(super) struct UpsampleFamily;

/// A size and its factors; a factor of 0 means that none is given.
macro_rules! upsample {
    ($type:ident, $params:expr, $default:expr) => {{
        let mut op = $type::new($params.sizes("size").unwrap_or($default));
        for (scale, factor) in op.scale.iter_mut().zip($params.numbers("scale")) {
            *scale = (factor != 0.0).then_some(factor);
        }
        op
    }};
}

impl Family for UpsampleFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::UpsampleNearest1d(_) => Op::UpsampleNearest1d(upsample!(UpsampleNearest1d, params, [1])),
            Op::UpsampleNearest2d(_) => Op::UpsampleNearest2d(upsample!(UpsampleNearest2d, params, [1, 1])),
            _ => Op::UpsampleBilinear2d(
                upsample!(UpsampleBilinear2d, params, [1, 1]).with_align_corners(params.flag("align_corners")),
            ),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let spatial = if cell.operation.name() == "upsample_nearest1d" { 1 } else { 2 };
        let mut shape = planes(draw);
        let (mut size, mut scale) = (Vec::new(), Vec::new());
        for d in 0..spatial {
            let from = draw.one_of(&[1, 2, 3, 5, 7, 8, 13, 16, 28, 31, 33, 56, 65]);
            let to = match draw.pick(0..6) {
                // In every third case, widths that are multiples of the vector length.
                _ if index % 3 == 2 && d + 1 == spatial => draw.one_of(&[8, 16, 32, 48, 64, 112, 128]),
                0 | 1 => 2 * from,
                2 => from,
                3 => 3 * from / 2 + 1,
                4 => draw.one_of(&[0, 1, 2, 3, 7]),
                _ => draw.pick(1..=2 * from + 40),
            };
            shape.push(from);
            size.push(to);
            scale.push(match draw.pick(0..5) {
                0 => to.max(1) as f64 / from as f64,
                // Factors that are not ratios of the sizes, and some that leave the source or stay
                // at its start.
                1 => draw.pick(0.05..6.0f64),
                2 if draw.chance(30) => draw.one_of(&[1e-40, 1e-310, 1e30, 0.3333333, 7.0]),
                _ => 0.0,
            });
        }
        let named = Named::default()
            .with_sizes("size", &size)
            .with("scale", &scale)
            .with_sizes("align_corners", &[usize::from(draw.chance(50))]);
        pooled(draw, cell, plan, shape, named)
    }
}
