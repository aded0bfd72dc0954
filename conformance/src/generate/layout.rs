//! Draws layouts of a kind for a shape.

use super::Draw;
use crate::case::{LayoutKind, LayoutSpec};
use proptest::prelude::*;

/// Returns the smallest rank that has layouts of a kind.
pub fn min_rank(kind: LayoutKind) -> usize {
    match kind {
        LayoutKind::Contiguous => 0,
        LayoutKind::Broadcast | LayoutKind::Narrowed | LayoutKind::Stepped => 1,
        LayoutKind::Transposed => 2,
        LayoutKind::Permuted => 3,
    }
}

/// Draws a layout of a kind; with `combine`, sometimes adds a second kind. Below the kind's
/// smallest rank, the layout is contiguous.
pub fn draw(draw: &mut Draw, dims: &[usize], kind: LayoutKind, combine: bool, input: bool) -> LayoutSpec {
    let mut spec = LayoutSpec::contiguous(dims.len());
    apply(draw, dims, kind, &mut spec);
    if combine && kind != LayoutKind::Contiguous && draw.chance(60) {
        let more = draw.one_of(&LayoutKind::ALL);
        if input || more != LayoutKind::Broadcast {
            apply(draw, dims, more, &mut spec);
        }
    }
    spec
}

/// Draws a dimension, preferring those with more than one element, where a layout has an effect.
fn some_dim(draw: &mut Draw, dims: &[usize]) -> usize {
    let wide: Vec<usize> = (0..dims.len()).filter(|&d| dims[d] > 1).collect();
    if wide.is_empty() || draw.chance(10) { draw.pick(0..dims.len()) } else { draw.one_of(&wide) }
}

fn apply(draw: &mut Draw, dims: &[usize], kind: LayoutKind, spec: &mut LayoutSpec) {
    let rank = dims.len();
    if rank < min_rank(kind) {
        return;
    }
    let large = dims.iter().product::<usize>() > 4096;
    let rounds = if draw.chance(30) { 2 } else { 1 };
    match kind {
        LayoutKind::Contiguous => {}
        LayoutKind::Transposed => {
            let pair = if draw.chance(60) { [rank - 2, rank - 1] } else { two(draw, rank) };
            swap_order(spec, pair);
        }
        LayoutKind::Permuted => {
            let mut order = draw.pick(Just((0..rank).collect::<Vec<_>>()).prop_shuffle());
            if order.iter().enumerate().filter(|&(i, o)| i != *o).count() < 3 {
                order = (0..rank).map(|i| (i + 1) % rank).collect();
            }
            spec.0.iter_mut().zip(order).for_each(|(d, o)| d.order = o);
        }
        LayoutKind::Broadcast => {
            for _ in 0..rounds {
                let d = some_dim(draw, dims);
                spec.0[d].broadcast = true;
            }
        }
        LayoutKind::Narrowed => {
            for _ in 0..rounds {
                let d = some_dim(draw, dims);
                let most = if large { 1 } else { 5 };
                spec.0[d].before = draw.pick(0..=most);
                spec.0[d].after = draw.pick(usize::from(spec.0[d].before == 0)..=most);
            }
        }
        LayoutKind::Stepped => {
            for _ in 0..if large { 1 } else { rounds } {
                let d = some_dim(draw, dims);
                spec.0[d].step = draw.pick(2..=3usize);
            }
        }
    }
}

fn two(draw: &mut Draw, rank: usize) -> [usize; 2] {
    let a = draw.pick(0..rank);
    [a, (a + draw.pick(1..rank)) % rank]
}

fn swap_order(spec: &mut LayoutSpec, [a, b]: [usize; 2]) {
    let order = spec.0[a].order;
    spec.0[a].order = spec.0[b].order;
    spec.0[b].order = order;
}
