//! Selects the distribution of each operand's values.

use super::Draw;
use crate::case::{Dist, Values};
use isobit_hal::DType;
use proptest::prelude::*;

pub(crate) fn general(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        2 => (-1..8i32).prop_map(|scale| Dist::Uniform { scale }),
        3 => Just(Dist::LogUniform),
        1 => (2..30u32).prop_map(|bits| Dist::Integers { bits }),
        1 => (0..7i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        4 => Just(Dist::Specials),
        2 => Just(Dist::Halfway),
        1 => Just(Dist::Ties),
        1 => Just(Dist::Few),
    ])
}

/// For reductions, in which a single NaN decides the result and a single large value nearly does:
/// mostly values that all contribute.
pub(crate) fn accumulated(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        4 => (-1..8i32).prop_map(|scale| Dist::Uniform { scale }),
        2 => (2..12u32).prop_map(|bits| Dist::Integers { bits }),
        2 => (0..12i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        1 => Just(Dist::LogUniform),
        1 => Just(Dist::Specials),
        1 => Just(Dist::Few),
        1 => Just(Dist::Sparse),
        1 => Just(Dist::Halfway),
        1 => Just(Dist::NegativeZeros),
        1 => Just(Dist::Alike),
    ])
}

/// Factors near one, so that long products neither vanish nor overflow.
pub(crate) fn factors(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        4 => Just(Dist::Exponents { low: -1, high: 0 }),
        2 => Just(Dist::Few),
        1 => Just(Dist::Specials),
        1 => (0..6i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
    ])
}

/// For a vendor's product. No sum of magnitudes may overflow f32 (f64 for f64), because it is not
/// determined in which order partial sums overflow. Infinities and NaNs are rare, so that rows
/// without one remain.
pub(crate) fn bounded(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        4 => (-1..5i32).prop_map(|scale| Dist::Uniform { scale }),
        2 => (1..8u32).prop_map(|bits| Dist::Integers { bits }),
        2 => (0..30i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        1 => Just(Dist::Sparse),
        1 => Just(Dist::Few),
    ])
}

/// Values of a distribution, with a drawn seed.
pub(crate) fn of(draw: &mut Draw, dist: Dist) -> Values {
    Values::Drawn { dist, seed: draw.pick(any::<u64>()) }
}

/// Values of any kind.
pub(crate) fn of_any_kind(draw: &mut Draw) -> Values {
    let dist = general(draw);
    of(draw, dist)
}

/// Draws one value, as `const_set` takes it.
pub(crate) fn one(draw: &mut Draw, dtype: DType) -> u64 {
    of_any_kind(draw).bits(dtype, 1)[0]
}
