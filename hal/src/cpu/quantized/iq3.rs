//! iq3_xxs and iq3_s: two entries of a code book for 8 elements, and their signs.

use super::format::{Format, Scale, Summand, half_at};
use super::grid::{eight_signs, entry, nibble, odd, put, word};
use crate::GgmlDType;
use crate::op::grids;

/// Elements of two entries.
const EACH: usize = 8;

/// Returns the digits of two entries.
#[inline(always)]
fn two(grid: &[u16], numbers: [usize; 2]) -> u32 {
    entry(grid, numbers[0]) | entry(grid, numbers[1]) << 12
}

/// 256 entries; signs and scales are in words of 32 elements.
pub(super) struct IQ3XXS;

impl Format for IQ3XXS {
    const FORMAT: GgmlDType = GgmlDType::IQ3XXS;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        for (o, bytes) in out.iter_mut().zip(block[66..].chunks_exact(4)) {
            *o = odd(d, u32::from(bytes[3] >> 4), 0.25);
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        const LEVELS: [i8; 8] = [4, 12, 20, 28, 36, 44, 52, 62];
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let signs = word(block, 66 + i / 4 * 4) >> (i % 4 * 7);
            let digits = two(&grids::IQ3_XXS, [2, 3].map(|at| block[at + 2 * i].into()));
            put::<3>(digits, &LEVELS, eight_signs(signs), out);
        }
    }
}

/// 512 entries, and a byte of signs for each two.
pub(super) struct IQ3S;

impl Format for IQ3S {
    const FORMAT: GgmlDType = GgmlDType::IQ3S;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        out.iter_mut().enumerate().for_each(|(j, o)| *o = odd(d, nibble(&block[106..], j), 1.0));
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        const LEVELS: [i8; 8] = [1, 3, 5, 7, 9, 11, 13, 15];
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let number = |at: usize| usize::from(block[2 + at]) | usize::from(block[66 + at / 8] >> (at % 8) & 1) << 8;
            let digits = two(&grids::IQ3_S, [0, 1].map(|at| number(2 * i + at)));
            put::<3>(digits, &LEVELS, block[74 + i].into(), out);
        }
    }
}
