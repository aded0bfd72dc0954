//! Draws layouts of a kind for a shape.

use super::Draw;
use super::shape::MANY;
use crate::case::{LayoutKind, LayoutSpec};
use proptest::prelude::*;

/// The most elements of an operand most of which is padding.
const MOST_PADDED: usize = 20_000;

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
    if let Some(each) = draw.pitch {
        if matches!(kind, LayoutKind::Transposed | LayoutKind::Permuted) {
            apply(draw, dims, kind, &mut spec);
        }
        pitch(dims, &mut spec, each);
        return spec;
    }
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
    let elements = dims.iter().product::<usize>();
    let large = elements > 4096;
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
        LayoutKind::Narrowed if rank >= MANY && elements <= 1024 => {
            // Gaps after every dimension, none of which merges with its neighbour.
            spec.0.iter_mut().for_each(|d| d.after = 1);
        }
        LayoutKind::Narrowed if draw.chance(30) && drawn_pitch(draw, dims, spec) => {}
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

fn drawn_pitch(draw: &mut Draw, dims: &[usize], spec: &mut LayoutSpec) -> bool {
    let each = draw.one_of(&[4usize, 8, 16, 32, 64, 128]);
    pitch(dims, spec, each)
}

/// Pads rows that are no multiple of `each` elements, so that each begins at an aligned address and
/// ends raggedly, as images and matrices of libraries do. Returns whether it did.
fn pitch(dims: &[usize], spec: &mut LayoutSpec, each: usize) -> bool {
    let Some(row) = (0..dims.len()).max_by_key(|&d| spec.0[d].order) else { return false };
    let size = dims[row];
    let rows: usize = (0..dims.len()).filter(|&d| d != row).map(|d| dims[d]).product();
    let pitch = size.next_multiple_of(each);
    let pays = spec.0[row].step == 1 && !spec.0[row].broadcast && size > 0 && pitch > size;
    if !pays || pitch * rows > MOST_PADDED.max(2 * size * rows) {
        return false;
    }
    (spec.0[row].before, spec.0[row].after) = (0, pitch - size);
    true
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
