//! What becomes of the mask of a comparison: joined with a predicate, and written to predicates or
//! as values.

use crate::exec::lane::write;
use crate::exec::{LANES, Place, Step, Warp};

/// What a step's `extra` says.
pub mod extra {
    /// The mask is negated.
    pub const NEGATED: u32 = 1;
    /// It is joined with the predicate that is the third source by one of these.
    pub const AND: u32 = 1 << 1;
    /// As `AND`.
    pub const OR: u32 = 2 << 1;
    /// As `AND`.
    pub const XOR: u32 = 3 << 1;
    /// A value is written (`set`): of 32 bits.
    pub const WORD: u32 = 1 << 3;
    /// Of 16 bits.
    pub const HALF: u32 = 2 << 3;
    /// Of two times 16 bits.
    pub const PAIR: u32 = 3 << 3;
    /// The value is 1 in binary32, binary16 or bfloat16; without any, all ones.
    pub const ONE_F32: u32 = 1 << 5;
    /// As `ONE_F32`.
    pub const ONE_F16: u32 = 2 << 5;
    /// As `ONE_F32`.
    pub const ONE_BF16: u32 = 3 << 5;
}

/// Writes the outcome of masks: of the values, or of the lower and the upper halves. All
/// comparisons share it.
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
