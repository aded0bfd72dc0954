//! q4_K and q5_K: sub-blocks of 32.

use super::format::{Format, SEGMENT, Scale, Summand, half_at, put_half};
use super::search::Tries;
use super::super_blocks::{levels, refine, runs, search};
use crate::GgmlDType;

/// q4_K, or q5_K if there is a fifth bit.
pub(super) struct Q4KOrQ5K<const FIFTH: bool>;

impl<const FIFTH: bool> Q4KOrQ5K<FIFTH> {
    const DMIN: usize = 2;
    const SCALES: usize = 4;
    const FIFTH_BITS: usize = 16;
    const NIBBLES: usize = if FIFTH { 48 } else { 16 };

    /// Returns the scale and the minimum of a sub-block, 6 bits each.
    #[inline(always)]
    fn six_bits(packed: &[u8], j: usize) -> [u8; 2] {
        if j < 4 {
            return [packed[j] & 63, packed[j + 4] & 63];
        }
        [packed[j + 4] & 15 | packed[j - 4] >> 6 << 4, packed[j + 4] >> 4 | packed[j] >> 6 << 4]
    }

    #[inline(always)]
    fn put_six_bits(packed: &mut [u8], j: usize, [scale, minimum]: [u8; 2]) {
        if j < 4 {
            packed[j] |= scale;
            packed[j + 4] |= minimum;
        } else {
            packed[j + 4] |= scale & 15 | minimum << 4;
            packed[j - 4] |= scale >> 4 << 6;
            packed[j] |= minimum >> 4 << 6;
        }
    }
}

impl<const FIFTH: bool> Format for Q4KOrQ5K<FIFTH> {
    const FORMAT: GgmlDType = if FIFTH { GgmlDType::Q5K } else { GgmlDType::Q4K };
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::OfBlock;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let (d, dmin, packed) = (half_at(block, Self::D), half_at(block, Self::DMIN), &block[Self::SCALES..][..12]);
        for (j, o) in out.iter_mut().enumerate() {
            let [scale, minimum] = Self::six_bits(packed, j);
            *o = Scale { factor: d * f32::from(scale), summand: -(dmin * f32::from(minimum)) };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let nibbles = &block[Self::NIBBLES..];
        let fifth = &block[Self::FIFTH_BITS..][..32];
        runs(out.chunks_exact_mut(32), |run, l, q| {
            let low = nibbles[run / 2 * 32 + l] >> (run % 2 * 4) & 15;
            let high = if FIFTH { (fifth[l] >> run & 1) << 4 } else { 0 };
            *q = (low | high) as i8;
        });
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let tries = if FIFTH {
            Tries { last: 31, from: -0.5, step: 0.1, tries: 15, squared: true }
        } else {
            Tries { last: 15, from: -1.0, step: 0.1, tries: 20, squared: true }
        };
        let mut q = [0; SEGMENT];
        let weights = |x: &[f32], w: &mut [f32; 32]| {
            let mean = (x.iter().fold(0.0, |sum, v| sum + v * v) / 32.0).sqrt();
            w.iter_mut().zip(x).for_each(|(w, v)| *w = mean + v.abs());
        };
        let [scales, minima] = search(x, &tries, weights, &mut q);
        let [mut scale_levels, mut minimum_levels] = [[0; 8]; 2];
        let d = levels(&scales[..8], 63, &mut scale_levels);
        let dmin = levels(&minima[..8], 63, &mut minimum_levels);
        block.fill(0);
        put_half(block, Self::D, d);
        put_half(block, Self::DMIN, dmin);
        for (j, (&scale, &minimum)) in scale_levels.iter().zip(&minimum_levels).enumerate() {
            Self::put_six_bits(&mut block[Self::SCALES..][..12], j, [scale, minimum]);
        }
        refine::<Self>(x, block, &mut q, 0, tries.last);
        let (head, nibbles) = block.split_at_mut(Self::NIBBLES);
        runs(q.chunks_exact_mut(32), |run, l, q| {
            nibbles[run / 2 * 32 + l] |= (*q as u8 & 15) << (run % 2 * 4);
            if FIFTH {
                head[Self::FIFTH_BITS + l] |= (*q as u8 >> 4) << run;
            }
        });
    }
}
