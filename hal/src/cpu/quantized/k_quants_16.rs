//! q2_K, q3_K and q6_K: sub-blocks of 16.

use super::format::{Format, SEGMENT, Scale, Summand, half_at, put_half};
use super::rounding::{even, top};
use super::search::{NOTHING, Tries, search_q3, search_scale};
use super::super_blocks::{levels, refine, runs, search};
use crate::GgmlDType;

/// Writes two bits of each element; four runs of 32 elements share their bytes.
#[inline(always)]
fn pair(bytes: &[u8], run: usize, l: usize) -> u8 {
    bytes[run / 4 * 32 + l] >> (run % 4 * 2) & 3
}

#[inline(always)]
fn put_pair(bytes: &mut [u8], run: usize, l: usize, bits: u8) {
    bytes[run / 4 * 32 + l] |= bits << (run % 4 * 2);
}

/// q2_K.
pub(super) struct Q2K;

impl Q2K {
    const PAIRS: usize = 16;
    const DMIN: usize = 82;
}

impl Format for Q2K {
    const FORMAT: GgmlDType = GgmlDType::Q2K;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::OfSubBlock;
    const D: usize = 80;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let (d, dmin) = (half_at(block, Self::D), half_at(block, Self::DMIN));
        for (o, s) in out.iter_mut().zip(block) {
            *o = Scale { factor: d * f32::from(s & 15), summand: -(dmin * f32::from(s >> 4)) };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let pairs = &block[Self::PAIRS..Self::D];
        runs(out.chunks_exact_mut(32), |run, l, q| *q = pair(pairs, run, l) as i8);
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let tries = Tries { last: 3, from: -0.5, step: 0.1, tries: 15, squared: false };
        let mut q = [0; SEGMENT];
        let weights = |x: &[f32], w: &mut [f32; 16]| w.iter_mut().zip(x).for_each(|(w, v)| *w = v.abs());
        let [scales, minima] = search(x, &tries, weights, &mut q);
        let [mut scale_levels, mut minimum_levels] = [[0; 16]; 2];
        let d = levels(&scales, 15, &mut scale_levels);
        let dmin = levels(&minima, 15, &mut minimum_levels);
        block.fill(0);
        put_half(block, Self::D, d);
        put_half(block, Self::DMIN, dmin);
        for (b, (scale, minimum)) in block.iter_mut().zip(scale_levels.iter().zip(&minimum_levels)) {
            *b = scale | minimum << 4;
        }
        refine::<Self>(x, block, &mut q, 0, tries.last);
        let pairs = &mut block[Self::PAIRS..Self::D];
        runs(q.chunks_exact_mut(32), |run, l, q| put_pair(pairs, run, l, *q as u8));
    }
}

/// q3_K.
pub(super) struct Q3K;

impl Q3K {
    const PAIRS: usize = 32;
    const SCALES: usize = 96;
}

impl Format for Q3K {
    const FORMAT: GgmlDType = GgmlDType::Q3K;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 108;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let (d, packed) = (half_at(block, Self::D), &block[Self::SCALES..Self::D]);
        for (j, o) in out.iter_mut().enumerate() {
            let low = packed[j % 8] >> (j / 8 * 4) & 15;
            let high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
            *o = Scale { factor: d * (f32::from(low | high << 4) - 32.0), summand: 0.0 };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let (high, pairs) = block[..Self::SCALES].split_at(Self::PAIRS);
        runs(out.chunks_exact_mut(32), |run, l, q| {
            *q = (pair(pairs, run, l) | (high[l] >> run & 1) << 2).wrapping_sub(4) as i8;
        });
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let (mut q, mut scales) = ([0; SEGMENT], [0.0; 16]);
        for ((x, q), scale) in x.chunks_exact(16).zip(q.chunks_exact_mut(16)).zip(&mut scales) {
            *scale = search_q3(x, q);
        }
        block.fill(0);
        let greatest = top(&scales);
        if greatest != 0.0 {
            let inverse = -32.0 / greatest;
            put_half(block, Self::D, 1.0 / inverse);
            for (j, scale) in scales.iter().enumerate() {
                let integer = (even(inverse * scale, -32, 31) + 32) as u8;
                block[Self::SCALES + j % 8] |= (integer & 15) << (j / 8 * 4);
                block[Self::SCALES + 8 + j % 4] |= (integer >> 4) << (j / 4 * 2);
            }
        }
        refine::<Self>(x, block, &mut q, -4, 3);
        let (high, pairs) = block.split_at_mut(Self::PAIRS);
        runs(q.chunks_exact_mut(32), |run, l, q| {
            let level = (*q + 4) as u8;
            put_pair(pairs, run, l, level & 3);
            high[l] |= level >> 2 << run;
        });
    }
}

/// q6_K.
pub(super) struct Q6K;

impl Q6K {
    const PAIRS: usize = 128;
    const SCALES: usize = 192;

    /// Returns the byte and the shift of an element's low nibble.
    #[inline(always)]
    fn nibble(run: usize, l: usize) -> (usize, usize) {
        (run / 4 * 64 + run % 2 * 32 + l, run % 4 / 2 * 4)
    }
}

impl Format for Q6K {
    const FORMAT: GgmlDType = GgmlDType::Q6K;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 208;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        for (o, &s) in out.iter_mut().zip(&block[Self::SCALES..]) {
            *o = Scale { factor: d * f32::from(s as i8), summand: 0.0 };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let (nibbles, pairs) = block[..Self::SCALES].split_at(Self::PAIRS);
        runs(out.chunks_exact_mut(32), |run, l, q| {
            let (at, shift) = Self::nibble(run, l);
            *q = (nibbles[at] >> shift & 15 | pair(pairs, run, l) << 4).wrapping_sub(32) as i8;
        });
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let (mut q, mut scales) = ([0; SEGMENT], [0.0; 16]);
        for ((x, q), scale) in x.chunks_exact(16).zip(q.chunks_exact_mut(16)).zip(&mut scales) {
            *scale = search_scale(x, q);
        }
        block.fill(0);
        let greatest = top(&scales);
        if greatest.abs() < NOTHING {
            return;
        }
        let inverse = -128.0 / greatest;
        put_half(block, Self::D, 1.0 / inverse);
        for (b, scale) in block[Self::SCALES..Self::D].iter_mut().zip(&scales) {
            *b = even(inverse * scale, -128, 127) as u8;
        }
        refine::<Self>(x, block, &mut q, -32, 31);
        let (nibbles, pairs) = block.split_at_mut(Self::PAIRS);
        runs(q.chunks_exact_mut(32), |run, l, q| {
            let (at, shift) = Self::nibble(run, l);
            let level = (*q + 32) as u8;
            nibbles[at] |= (level & 15) << shift;
            put_pair(pairs, run, l, level >> 4);
        });
    }
}
