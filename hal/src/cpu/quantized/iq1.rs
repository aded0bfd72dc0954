//! iq1_s and iq1_m: entries of a code book for 8 elements of -1, 0 and 1 each, which are all an
//! eighth more or less. The integers are 8 times that.

use super::format::{Format, Scale, Summand, half_at};
use super::grid::{entry, nibble, odd, put, u16_at};
use crate::GgmlDType;
use crate::op::grids;

/// The levels that digits stand for; there are three.
const MORE: [i8; 4] = [-7, 1, 9, 0];
const LESS: [i8; 4] = [-9, -1, 7, 0];
/// Elements of an entry.
const EACH: usize = 8;
const UNIT: f32 = 0.125;

#[inline(always)]
fn read(number: u32, is_less: bool, out: &mut [i8]) {
    put::<2>(entry(&grids::IQ1, number as usize), if is_less { &LESS } else { &MORE }, 0, out);
}

/// Sub-blocks of 32, which are more or less as a whole.
pub(super) struct IQ1S;

impl Format for IQ1S {
    const FORMAT: GgmlDType = GgmlDType::IQ1S;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        out.iter_mut().enumerate().for_each(|(j, o)| *o = odd(d, u16_at(block, 34 + 2 * j) >> 12 & 7, UNIT));
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let high = u16_at(block, 34 + i / 4 * 2);
            let number = u32::from(block[2 + i]) | (high >> (i % 4 * 3) & 7) << 8;
            read(number, high >> 15 == 1, out);
        }
    }
}

/// Sub-blocks of 16, whose entries are more or less each by itself. The bits of the block's scale
/// are above those of the sub-blocks' scales.
pub(super) struct IQ1M;

const SCALES: usize = 48;

impl Format for IQ1M {
    const FORMAT: GgmlDType = GgmlDType::IQ1M;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = SCALES;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let four = [0, 2, 4, 6].map(|at| u16_at(block, SCALES + at));
        let bits = four.iter().rev().fold(0, |bits, word| bits << 4 | word >> 12);
        let d = half::f16::from_bits(bits as u16).to_f32();
        out.iter_mut().enumerate().for_each(|(j, o)| *o = odd(d, four[j / 4] >> (j % 4 * 3) & 7, UNIT));
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (i, out) in out.chunks_exact_mut(EACH).enumerate() {
            let high = nibble(&block[32..], i);
            read(u32::from(block[i]) | (high & 7) << 8, high >> 3 == 1, out);
        }
    }
}
