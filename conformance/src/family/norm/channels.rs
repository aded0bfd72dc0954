//! Norms of `[n, c, ..]`: groups of channels of the lengths at which rows change their method, and
//! channels of sizes that are vectors and of sizes that are not.

use super::{BUDGET, EPS, Named};
use crate::case::Dist;
use crate::generate::{Draw, values};
use isobit_hal::{BatchNorm, GroupNorm, LocalResponseNorm, Op};
use proptest::prelude::*;
use proptest::sample::select;

/// Whether an operation's parameters have one element for each channel.
pub(super) fn is_of_channels(op: &Op) -> bool {
    matches!(op, Op::GroupNorm(_) | Op::BatchNorm(_) | Op::LocalResponseNorm(_))
}

pub(super) fn with_params(op: &Op, params: &crate::case::Params) -> Op {
    let (eps, number) = (params.number("eps"), |name| params.number(name));
    match op {
        Op::GroupNorm(p) => {
            let groups = params.size("groups").max(1);
            Op::GroupNorm(GroupNorm::new(groups, eps).with_inputs(p.has_weight, p.has_bias))
        }
        Op::BatchNorm(p) => Op::BatchNorm(BatchNorm::new(eps).with_inputs(p.has_weight, p.has_bias)),
        _ => {
            let op = LocalResponseNorm::new(1, number("alpha"), number("beta"), number("k"));
            Op::LocalResponseNorm(op.with_window(params.size("before"), params.size("after")))
        }
    }
}

/// Draws the shape and the parameters; `length` is the number of elements of a group.
pub(super) fn shape(draw: &mut Draw, op: &Op, length: usize, min_rank: usize) -> (Vec<usize>, Named) {
    if let Op::GroupNorm(_) = op {
        let divisors: Vec<usize> =
            [1, 2, 3, 4, 5, 7, 8, 10, 16, 64, 257].into_iter().filter(|&d| length.is_multiple_of(d)).collect();
        let per_group = draw.one_of(&divisors);
        let left = (BUDGET / length).max(1);
        let fitting: Vec<usize> = [1, 2, 3, 4, 5, 8, 33].into_iter().filter(|&g| g <= left).collect();
        let groups = draw.one_of(&fitting);
        let n = draw.one_of(&[1, 1, 2, 3]).min(left / groups).max(1);
        let shape = planes(draw, [n, groups * per_group], length / per_group, min_rank);
        return (shape, Named::default().with_sizes("groups", &[groups]).with("eps", &[draw.one_of(EPS)]));
    }
    let spatial: usize =
        draw.one_of(&[1, 1, 2, 3, 4, 7, 8, 15, 16, 24, 49, 64, 100, 112, 129, 192, 256, 400, 513, 1024]);
    let left = (BUDGET / spatial).max(1);
    let fitting: Vec<usize> = [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 40, 96].into_iter().filter(|&c| c <= left).collect();
    let c = draw.one_of(&fitting);
    let n = draw.one_of(&[1, 1, 2, 3, 8, 20]).min(left / c).max(1);
    let shape = planes(draw, [n, c], spatial, min_rank);
    let params = match op {
        Op::BatchNorm(_) => Named::default().with("eps", &[draw.one_of(EPS)]),
        _ => Named::default()
            .with_sizes("before", &[draw.one_of(&[0usize, 1, 2, 2, 3, 8, 200])])
            .with_sizes("after", &[draw.one_of(&[0usize, 1, 2, 2, 3, 8, 200])])
            .with("alpha", &[draw.one_of(&[1e-4, 1.0, 1.0, 3.0, 0.5, -0.1, 0.0, 1e30, f64::NAN])])
            .with("beta", &[draw.one_of(&[0.75, 0.75, 0.5, 1.0, 2.0, -0.5, 0.0, 40.0])])
            .with("k", &[draw.one_of(&[1.0, 1.0, 2.0, 0.0, 1e-3, -1.0, f64::INFINITY])]),
    };
    (shape, params)
}

/// Divides the elements of a channel into dimensions, and adds dimensions of 1.
fn planes(draw: &mut Draw, outer: [usize; 2], spatial: usize, min_rank: usize) -> Vec<usize> {
    let mut shape = outer.to_vec();
    let mut rest = spatial;
    for side in [2, 3, 7, 8] {
        if rest.is_multiple_of(side) && rest > side && shape.len() < 4 && draw.chance(40) {
            shape.push(side);
            rest /= side;
        }
    }
    if rest > 1 || draw.chance(50) {
        shape.push(rest);
    }
    while shape.len() < min_rank {
        shape.push(1);
    }
    if draw.chance(4) {
        let empty = draw.pick(0..shape.len());
        // The channels are still divided into groups.
        shape[empty] = if empty == 1 { shape[1] } else { 0 };
    }
    shape
}

pub(super) fn dist(draw: &mut Draw, op: &Op, input: usize) -> Dist {
    match (op, input) {
        (Op::BatchNorm(_), 2) => draw.pick(prop_oneof![
            4 => Just(Dist::Ramp),
            2 => (-3..6i32).prop_map(|scale| Dist::Uniform { scale }),
            1 => Just(Dist::Ones),
            1 => Just(Dist::Specials),
        ]),
        (Op::LocalResponseNorm(_), _) => draw.pick(prop_oneof![
            6 => (-2..5i32).prop_map(|scale| Dist::Uniform { scale }),
            2 => (0..12i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
            1 => select(&[Dist::LogUniform, Dist::Specials, Dist::Sparse, Dist::NegativeZeros][..]),
        ]),
        // The variance of a group may be near a usual eps, which then decides.
        (Op::GroupNorm(_), 0) if draw.chance(15) => Dist::Uniform { scale: draw.pick(-21..-5i32) },
        (_, 0) => values::accumulated(draw),
        _ => draw.pick(prop_oneof![
            4 => (-1..3i32).prop_map(|scale| Dist::Uniform { scale }),
            1 => Just(Dist::Ones),
            1 => Just(Dist::LogUniform),
            1 => Just(Dist::Specials),
        ]),
    }
}
