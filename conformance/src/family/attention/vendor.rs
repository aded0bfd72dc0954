//! What is drawn for vendor numerics: finite numbers, of which no score and no sum overflows, since
//! what a library makes of others is not determined; and mostly heads whose size libraries take.

use super::Role;
use crate::case::Dist;
use crate::family::conv;
use crate::generate::{Draw, values};
use isobit_hal::DType;
use proptest::prelude::*;

/// Makes the size of most heads a multiple of 8, as cuDNN needs it.
pub(super) fn fit(draw: &mut Draw, shape: &mut [usize]) {
    if draw.chance(85) {
        shape[5] = shape[5].next_multiple_of(8);
    }
}

/// Draws the distribution of an input for a case's number of keys.
pub(super) fn dist(draw: &mut Draw, role: Role, dtype: DType, keys: usize) -> Dist {
    match role {
        Role::Query | Role::Key => of_scores(draw),
        Role::Value => conv::for_vendor(values::bounded(draw), dtype, false),
        Role::Mask => of_mask(draw),
        Role::Lengths => super::of_lengths(draw, keys),
    }
}

/// Scores are from nearly equal to so far apart that one key has all the weight.
fn of_scores(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        12 => (-3..4i32).prop_map(|scale| Dist::Uniform { scale }),
        3 => (0..6i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        1 => (1..4u32).prop_map(|bits| Dist::Integers { bits }),
        1 => Just(Dist::Few),
        1 => Just(Dist::Ones),
        1 => Just(Dist::Alike),
        1 => Just(Dist::NegativeZeros),
    ])
}

fn of_mask(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        8 => prop::sample::select(&[0u32, 16, 64, 128, 192, 240, 255, 256][..])
            .prop_map(|share| Dist::Masking { share }),
        2 => (-1..6i32).prop_map(|scale| Dist::Uniform { scale }),
        1 => (0..6i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
    ])
}
