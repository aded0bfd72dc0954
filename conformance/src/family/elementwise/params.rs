//! Parameters of calls: values to fill with, ordinary numbers, and numbers at which an operation
//! changes its behaviour.

use crate::case::{Params, Real};
use crate::cells::Cell;
use crate::family::Named;
use crate::generate::{Draw, values};
use isobit_hal::Op;
use proptest::prelude::*;

const NUMBERS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -3.0,
    0.1,
    1e-3,
    255.5,
    -129.0,
    65504.0,
    1e10,
    -1e30,
    1e300,
    4.9e-324,
    2147483648.0,
    9.3e18,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const EXPONENTS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    0.25,
    1.0 / 3.0,
    1.5,
    -2.5,
    7.0,
    10.0,
    33.0,
    -127.0,
    1e-3,
    1e-30,
    1e30,
    16777217.0,
    9007199254740993.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The exponents with kernels of their own.
const POWERS: &[f64] = &[2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.0];

fn number(draw: &mut Draw, listed: &'static [f64]) -> Real {
    Real(draw.pick(prop_oneof![1 => proptest::sample::select(listed), 1 => -8.0..8.0f64]))
}

/// Returns the parameters that an index requires: every second case beyond the first ones has the
/// next listed exponent, so that each meets several layouts, and every fourth one with a kernel of
/// its own.
pub(super) fn listed(op: &Op, index: u64) -> Option<Params> {
    let (list, nth) = match index % 4 {
        1 | 3 => (EXPONENTS, (index / 2).checked_sub(4)?),
        2 => (POWERS, (index / 4).checked_sub(2)?),
        _ => return None,
    };
    matches!(op, Op::Powf(_)).then(|| Params::Number(Real(list[nth as usize % list.len()])))
}

pub(super) fn draw(draw: &mut Draw, cell: &Cell) -> Params {
    match cell.operation.op() {
        Op::Fill(_) => Params::Fill(values::one(draw, cell.dst_dtype())),
        Op::Affine(_) => Params::Affine { mul: number(draw, NUMBERS), add: number(draw, NUMBERS) },
        Op::Powf(_) => Params::Number(number(draw, EXPONENTS)),
        Op::Elu(_) => Params::Number(number(draw, NUMBERS)),
        Op::LeakyRelu(_) => Params::Named(Named::default().with("negative_slope", &[number(draw, NUMBERS).0])),
        Op::Celu(_) => Params::Named(Named::default().with("alpha", &[number(draw, NUMBERS).0])),
        Op::Clamp(_) => {
            let (min, max) = (number(draw, NUMBERS).0, number(draw, NUMBERS).0);
            Params::Named(Named::default().with("min", &[min]).with("max", &[max]))
        }
        // The dtype's own rule of overflow, and both that a call can name.
        Op::Cast(_) if cell.dst_dtype().is_f8() => match draw.one_of(&[None, Some(0.0), Some(1.0)]) {
            Some(saturate) => Params::Named(Named::default().with("saturate", &[saturate])),
            None => Params::None,
        },
        _ => Params::None,
    }
}
