//! q4_0, q4_1, q5_0 and q5_1: 32 integers of 4 or 5 bits with one scale.

use super::format::{Format, Scale, Summand, half_at, put_half};
use super::rounding::{extremes, inverse, top, trunc};
use crate::GgmlDType;

/// Integers with `LEVELS` levels: from 0 upwards if there is a minimum, otherwise around 0.
pub(super) struct LegacyQuant<const LEVELS: u8, const MINIMUM: bool>;

impl<const LEVELS: u8, const MINIMUM: bool> LegacyQuant<LEVELS, MINIMUM> {
    const FIFTH_BITS: usize = if MINIMUM { 4 } else { 2 };
    const NIBBLES: usize = Self::FIFTH_BITS + if LEVELS == 32 { 4 } else { 0 };
    /// The stored value of the integer 0.
    const ZERO: u8 = if MINIMUM { 0 } else { LEVELS / 2 };

    /// Returns the fifth bits, one per element.
    #[inline(always)]
    fn fifth_bits(block: &[u8]) -> u32 {
        if LEVELS != 32 {
            return 0;
        }
        let at = Self::FIFTH_BITS;
        u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    }

    /// Writes the levels, one per element.
    #[inline(always)]
    fn put(block: &mut [u8], level: impl Fn(usize) -> u8) {
        let mut fifth = 0u32;
        for l in 0..16 {
            let (low, high) = (level(l), level(l + 16));
            block[Self::NIBBLES + l] = low & 15 | high << 4;
            fifth |= u32::from(low >> 4) << l | u32::from(high >> 4) << (l + 16);
        }
        if LEVELS == 32 {
            block[Self::FIFTH_BITS..][..4].copy_from_slice(&fifth.to_le_bytes());
        }
    }
}

impl<const LEVELS: u8, const MINIMUM: bool> Format for LegacyQuant<LEVELS, MINIMUM> {
    const FORMAT: GgmlDType = match (LEVELS, MINIMUM) {
        (16, false) => GgmlDType::Q4_0,
        (16, true) => GgmlDType::Q4_1,
        (32, false) => GgmlDType::Q5_0,
        _ => GgmlDType::Q5_1,
    };
    const SUB: usize = 32;
    const SUMMAND: Summand = if MINIMUM { Summand::OfBlock } else { Summand::None };
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let summand = if MINIMUM { half_at(block, 2) } else { 0.0 };
        out[0] = Scale { factor: half_at(block, Self::D), summand };
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let fifth = Self::fifth_bits(block);
        let (low, high) = out.split_at_mut(16);
        let nibbles = &block[Self::NIBBLES..][..16];
        for (l, ((low, high), &pair)) in low.iter_mut().zip(high).zip(nibbles).enumerate() {
            let bits = fifth >> l;
            *low = (pair & 15 | ((bits & 1) << 4) as u8).wrapping_sub(Self::ZERO) as i8;
            *high = (pair >> 4 | ((bits >> 16 & 1) << 4) as u8).wrapping_sub(Self::ZERO) as i8;
        }
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let last = i32::from(LEVELS) - 1;
        if MINIMUM {
            let (lo, hi) = extremes(x);
            let step = (hi - lo) / last as f32;
            let inverse = inverse(step);
            put_half(block, Self::D, step);
            put_half(block, 2, if lo == 0.0 { 0.0 } else { lo });
            Self::put(block, |i| trunc((x[i] - lo) * inverse + 0.5, 0, last) as u8);
        } else {
            let step = top(x) / -f32::from(Self::ZERO);
            let inverse = inverse(step);
            put_half(block, Self::D, step);
            Self::put(block, |i| trunc(x[i] * inverse + (f32::from(Self::ZERO) + 0.5), 0, last) as u8);
        }
    }
}
