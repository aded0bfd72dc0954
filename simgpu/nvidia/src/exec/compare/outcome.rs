//! Processes the mask of a comparison: combines it with a predicate, and writes it to predicates or
//! as values.

use crate::exec::lane::write;
use crate::exec::{LANES, Place, Step, Warp};

/// The bits of a step's `extra`.
pub mod extra {
    /// Negates the mask.
    pub const NEGATED: u32 = 1;
    /// Combines the mask with the predicate in the third source, by one of these operations.
    pub const AND: u32 = 1 << 1;
    /// See `AND`.
    pub const OR: u32 = 2 << 1;
    /// See `AND`.
    pub const XOR: u32 = 3 << 1;
    /// Writes a 32-bit value (`set`).
    pub const WORD: u32 = 1 << 3;
    /// Writes a 16-bit value.
    pub const HALF: u32 = 2 << 3;
    /// Writes two 16-bit values.
    pub const PAIR: u32 = 3 << 3;
    /// The value for true is 1 in binary32, binary16 or bfloat16; without any of these flags it is
    /// all ones.
    pub const ONE_F32: u32 = 1 << 5;
    /// See `ONE_F32`.
    pub const ONE_F16: u32 = 2 << 5;
    /// See `ONE_F32`.
    pub const ONE_BF16: u32 = 3 << 5;
}

/// Writes the outcome of masks: one for single values, or one each for the lower and the upper
/// halves. All comparisons share this function.
#[inline(never)]
pub fn finish(warp: &mut Warp, step: &Step, low: u32, high: Option<u32>) {
    let with = |mask: u32| {
        let mask = if step.extra & extra::NEGATED != 0 { !mask } else { mask };
        move |warp: &Warp, turned: bool| {
            let mask = if turned { !mask } else { mask };
            match step.extra & extra::XOR {
                0 => mask,
                extra::AND => mask & warp.predicate(step.src[2]),
                extra::OR => mask | warp.predicate(step.src[2]),
                _ => mask ^ warp.predicate(step.src[2]),
            }
        }
    };
    let first = with(low)(warp, false);
    if step.extra & extra::PAIR != 0 {
        let second = high.map_or(first, |high| with(high)(warp, false));
        return values(warp, step, first, second);
    }
    let second = match high {
        Some(high) if step.also != Place::NONE => with(high)(warp, false),
        None if step.also != Place::NONE => with(low)(warp, true),
        _ => 0,
    };
    if step.dst != Place::NONE {
        warp.set_predicate(step.dst, first);
    }
    if step.also != Place::NONE {
        warp.set_predicate(step.also, second);
    }
}

/// Writes values.
#[inline(never)]
fn values(warp: &mut Warp, step: &Step, low: u32, high: u32) {
    let one: u32 = match step.extra & extra::ONE_BF16 {
        0 => u32::MAX,
        extra::ONE_F32 => 0x3f80_0000,
        extra::ONE_F16 => 0x3c00,
        _ => 0x3f80,
    };
    let bit = |mask: u32, lane: usize| (mask >> lane & 1).wrapping_neg();
    let words: [u32; LANES] = match step.extra & extra::PAIR {
        extra::PAIR => std::array::from_fn(|lane| bit(low, lane) & one & 0xffff | (bit(high, lane) & one) << 16),
        _ => std::array::from_fn(|lane| bit(low, lane) & one),
    };
    // SAFETY: lowering gave the step a destination of this width.
    unsafe {
        match step.extra & extra::PAIR {
            extra::HALF => write(warp, step.dst, &words.map(|word| word as u16)),
            _ => write(warp, step.dst, &words),
        }
    }
}
