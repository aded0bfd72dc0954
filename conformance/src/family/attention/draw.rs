//! Shapes, parameters and layouts.

use super::{Role, attention, vendor};
use crate::case::{LayoutKind, LayoutSpec};
use crate::cells::Cell;
use crate::family::Named;
use crate::generate::{Draw, Plan};
use crate::schema::Class;
use proptest::prelude::*;

const QUERIES: &[usize] = &[1, 1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 70];
const KEYS: &[usize] = &[1, 2, 3, 7, 15, 17, 31, 33, 63, 64, 65, 127, 128, 129, 129, 200, 255, 256, 257, 257, 300];
const SIZES: &[usize] = &[
    1, 2, 3, 4, 8, 8, 10, 12, 12, 16, 20, 31, 32, 32, 33, 64, 64, 66, 80, 96, 100, 127, 128, 128, 129, 160, 192, 255,
    256, 256,
];
const GROUPS: &[usize] = &[1, 1, 2, 3, 4, 8];

/// The numbers of scores times the size of a head: simulated cards compute them all.
const BUDGETS: &[usize] = &[1 << 15, 1 << 17, 1 << 17, 1 << 19];

/// The largest scale that hal takes.
const LARGEST: f64 = (1u64 << 59) as f64;
const SCALES: &[f64] = &[1.0, 0.125, 0.5, -0.5, -0.125, -3.0, 0.0, 40.0, 1e-4, -1e3];
/// Results that overflow or vanish, and a scale that is subnormal; not for vendor numerics.
const EXTREME_SCALES: &[f64] = &[LARGEST, -LARGEST, 1e10, 1e-20, -1e-37, 1e-42];
const CAPS: &[f64] = &[0.5, 1.0, 5.0, 20.0, 30.0, 50.0, 1000.0];
const EXTREME_CAPS: &[f64] = &[1e-3, 1e6, 1e17, LARGEST];

pub(super) fn shape(draw: &mut Draw, cell: &Cell) -> Vec<usize> {
    let mut left = draw.one_of(BUDGETS);
    // The batch, the heads of keys and the heads that share one; then queries, keys and elements.
    // Each head of keys of each batch entry costs simulated cards a tile at least, however small.
    let [batch, kv_heads] = draw.one_of(&[[1, 1], [1, 1], [1, 1], [2, 1], [1, 2], [3, 1], [1, 3], [2, 2]]);
    let mut shape = vec![batch, kv_heads, 1, 1, 1, 1];
    left /= shape[0] * shape[1];
    for at in draw.pick(Just(vec![2, 3, 4, 5]).prop_shuffle()) {
        let choices = [GROUPS, QUERIES, KEYS, SIZES][at - 2];
        let fitting: Vec<usize> = choices.iter().copied().filter(|&size| size <= left).collect();
        shape[at] = draw.one_of(&fitting);
        left /= shape[at];
    }
    // With more queries than keys, many windows hold no key.
    if shape[3] > shape[4] && draw.chance(50) {
        shape.swap(3, 4);
    }
    if cell.class() == Class::Vendor {
        vendor::fit(draw, &mut shape);
    }
    match draw.pick(0..40u32) {
        0 => shape[4] = 0,
        1 => {
            let none = draw.pick(0..6usize);
            shape[none] = 0;
        }
        _ => {}
    }
    shape
}

pub(super) fn params(draw: &mut Draw, cell: &Cell, shape: &[usize]) -> Named {
    let &[.., m, n, _] = shape else { unreachable!("six numbers make a case") };
    let window = |draw: &mut Draw| match draw.pick(0..8u32) {
        // Larger than any position, and as large as a size can be.
        0 => draw.one_of(&[1 << 40, usize::MAX]),
        1..4 => draw.one_of(&[n.saturating_sub(1), n, n + 1, n / 2, m, n + m]),
        _ => draw.one_of(&[0, 1, 2, 5, 15, 16, 63, 64, 127, 128, 129]),
    };
    let (left, right) = match draw.pick(0..20u32) {
        0..7 => (None, None),
        7..13 => (None, Some(0)),
        13..16 => (Some(window(draw)), Some(0)),
        16 => (Some(window(draw)), None),
        17 => (None, Some(window(draw))),
        _ => (Some(window(draw)), Some(window(draw))),
    };
    let mut named = Named::default();
    for (name, size) in [("window_size_left", left), ("window_size_right", right)] {
        named = size.map_or(named.clone(), |size| named.with_sizes(name, &[size]));
    }
    let [scales, caps] = match cell.class() {
        Class::Vendor => [SCALES, CAPS],
        _ => [EXTREME_SCALES, EXTREME_CAPS],
    };
    let cap = match draw.pick(0..30u32) {
        0..22 => None,
        22..29 => Some(draw.one_of(CAPS)),
        _ => Some(draw.one_of(caps)),
    };
    let scale = match draw.pick(0..30u32) {
        0..20 => None,
        20..28 => Some(draw.one_of(SCALES)),
        _ => Some(draw.one_of(scales)),
    };
    // hal takes no scale that is more than 2^59 times the cap.
    let most = cap.filter(|&cap| cap < 1.0).map_or(LARGEST, |cap| LARGEST * cap / 2.0);
    let scale = scale.map(|scale: f64| scale.clamp(-most, most));
    named = cap.map_or(named.clone(), |cap| named.with("softcap", &[cap]));
    scale.map_or(named.clone(), |scale| named.with("scale", &[scale]))
}

/// Draws layouts: queries, keys, values and results also with tokens before heads, as projections
/// give them, and masks that heads, queries or batch entries share.
pub(super) fn layouts(draw: &mut Draw, cell: &Cell, plan: &Plan, shape: &[usize]) -> Vec<Option<LayoutSpec>> {
    let (operation, op) = (cell.operation, cell.operation.op());
    let dims = |operand| operation.operand_dims(op, shape, operand);
    let inputs: Vec<_> = (0..operation.inputs()).map(dims).collect();
    let mut layouts = crate::family::layouts(draw, plan, &inputs, &dims(inputs.len()));
    let last = layouts.len() - 1;
    for (operand, layout) in layouts.iter_mut().enumerate() {
        let role = Role::of(attention(op), operand);
        let planned = match operand {
            0 => plan.input == LayoutKind::Transposed,
            _ if operand == last => plan.dst == LayoutKind::Transposed,
            _ => !plan.plain,
        };
        if planned && (operand == last || matches!(role, Role::Query | Role::Key | Role::Value)) && draw.chance(40) {
            *layout = Some(tokens_first());
        }
        if operand != last && role == Role::Mask && planned && draw.chance(60) {
            *layout = Some(shared(draw));
        }
    }
    layouts
}

/// `[batch, tokens, heads, d]` in memory.
fn tokens_first() -> LayoutSpec {
    let mut spec = LayoutSpec::contiguous(4);
    (spec.0[1].order, spec.0[2].order) = (2, 1);
    spec
}

/// A mask that all heads share, or all queries, or all batch entries, and most combinations.
fn shared(draw: &mut Draw) -> LayoutSpec {
    let mut spec = LayoutSpec::contiguous(4);
    let among = draw.one_of(&[&[1][..], &[0, 1], &[0, 1], &[1, 2], &[0, 1, 2], &[2], &[1, 3]]);
    among.iter().for_each(|&dim| spec.0[dim].broadcast = true);
    spec
}
