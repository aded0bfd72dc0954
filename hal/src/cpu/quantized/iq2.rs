//! iq2_xxs, iq2_xs and iq2_s: entries of a code book for 8 elements each, and their signs.

use super::format::{Format, Scale, Summand, half_at};
use super::grid::{eight_signs, entry, nibble, odd, put, u16_at, word};
use crate::GgmlDType;
use crate::op::grids;

/// The levels that digits stand for; there are three.
const LEVELS: [i8; 4] = [8, 25, 43, 0];
/// Elements of an entry.
const EACH: usize = 8;
/// What scales are multiples of.
const UNIT: f32 = 0.125;

/// 256 entries; signs and scales are in words of 32 elements.
pub(super) struct IQ2XXS;

impl Format for IQ2XXS {
    const FORMAT: GgmlDType = GgmlDType::IQ2XXS;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        for (o, bytes) in out.iter_mut().zip(block[2..].chunks_exact(8)) {
            *o = odd(d, u32::from(bytes[7] >> 4), UNIT);
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (bytes, out) in block[2..].chunks_exact(8).zip(out.chunks_exact_mut(32)) {
            let signs = word(bytes, 4);
            for (l, (&number, out)) in bytes.iter().zip(out.chunks_exact_mut(EACH)).enumerate() {
                put::<2>(entry(&grids::IQ2_XXS, number.into()), &LEVELS, eight_signs(signs >> (7 * l)), out);
            }
        }
    }
}

/// 512 entries, whose numbers have their signs beside them.
pub(super) struct IQ2XS;

impl Format for IQ2XS {
    const FORMAT: GgmlDType = GgmlDType::IQ2XS;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        out.iter_mut().enumerate().for_each(|(j, o)| *o = odd(d, nibble(&block[66..], j), UNIT));
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let both = u16_at(block, 2 + 2 * i);
            put::<2>(entry(&grids::IQ2_XS, both as usize), &LEVELS, eight_signs(both >> 9), out);
        }
    }
}

/// 1024 entries, and a byte of signs for each.
pub(super) struct IQ2S;

impl Format for IQ2S {
    const FORMAT: GgmlDType = GgmlDType::IQ2S;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        out.iter_mut().enumerate().for_each(|(j, o)| *o = odd(d, nibble(&block[74..], j), UNIT));
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let high = block[66 + i / 4] >> (i % 4 * 2) & 3;
            let number = usize::from(block[2 + i]) | usize::from(high) << 8;
            put::<2>(entry(&grids::IQ2_S, number), &LEVELS, block[34 + i].into(), out);
        }
    }
}
