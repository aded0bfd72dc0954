//! iq4_nl and iq4_xs: 4-bit indices into a table of 16 levels, which are closer together near 0.

use super::format::{Format, SUB_BLOCKS, Scale, Summand, half_at, put_half};
use super::nibbles;
use super::rounding::{even, inverse, top};
use super::search::NOTHING;
use crate::GgmlDType;
use std::ops::Range;

/// The levels of both formats: `kvalues_iq4nl` of [ggml](https://github.com/ggml-org/ggml),
/// Copyright (c) 2023-2026 The ggml authors, MIT license.
const LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Returns the index of the level nearest to a number, the upper one of two; NaN gives the last.
#[inline(always)]
fn nearest(v: f32) -> u8 {
    let mut index = LEVELS.len() as u8 - 1;
    for pair in LEVELS.windows(2) {
        let middle = (f32::from(pair[0]) + f32::from(pair[1])) / 2.0;
        index -= u8::from(v < middle);
    }
    index
}

/// Returns the sums of `w x l` and of `w l l` over elements x with weights x x and the levels l
/// nearest to `inverse x`.
#[inline(always)]
fn sums(x: &[f32], inverse: f32) -> (f32, f32) {
    let (mut xl, mut ll) = (0.0, 0.0);
    for &v in x {
        let (weight, level) = (v * v, f32::from(LEVELS[usize::from(nearest(v * inverse))]));
        xl += weight * level * v;
        ll += weight * level * level;
    }
    (xl, ll)
}

/// Returns the scale with the least weighted error among that for the reciprocal `first`, and those
/// with which the element of the greatest magnitude, `top`, lies `tries` beside the lowest level.
#[inline(always)]
fn search(x: &[f32], top: f32, first: f32, tries: Range<i32>) -> f32 {
    let (xl, ll) = sums(x, first);
    let mut scale = if ll > 0.0 { xl / ll } else { 0.0 };
    let mut best = scale * xl;
    for t in tries {
        let (xl, ll) = sums(x, (t + i32::from(LEVELS[0])) as f32 / top);
        if ll > 0.0 && xl * xl > best * ll {
            scale = xl / ll;
            best = scale * xl;
        }
    }
    scale
}

/// 32 indices with one scale.
pub(super) struct IQ4NL;

impl Format for IQ4NL {
    const FORMAT: GgmlDType = GgmlDType::IQ4NL;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        nibbles::read(&block[2..], &LEVELS, out);
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let top = top(x);
        if top.abs() < NOTHING {
            return block.fill(0);
        }
        let first = 1.0 / (top / f32::from(LEVELS[0]));
        let scale = search(x, top, first, 0..0);
        put_half(block, Self::D, if scale.is_nan() { f32::NAN } else { scale });
        nibbles::write(x, &mut block[2..], |v| nearest(v * first));
    }
}

/// 256 indices in sub-blocks of 32 with 6-bit scales.
pub(super) struct IQ4XS;

const HIGH_SCALES: usize = 2;
const LOW_SCALES: usize = 4;
const NIBBLES: usize = 8;
/// Bytes of nibbles per sub-block.
const EACH: usize = 16;

impl Format for IQ4XS {
    const FORMAT: GgmlDType = GgmlDType::IQ4XS;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let d = half_at(block, Self::D);
        let high = u16::from_le_bytes([block[HIGH_SCALES], block[HIGH_SCALES + 1]]);
        for (j, o) in out.iter_mut().enumerate() {
            let low = block[LOW_SCALES + j / 2] >> (j % 2 * 4) & 15;
            let scale = i32::from(low) + 16 * i32::from(high >> (2 * j) & 3) - 32;
            *o = Scale { factor: d * scale as f32, summand: 0.0 };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (bytes, out) in block[NIBBLES..].chunks_exact(EACH).zip(out.chunks_exact_mut(Self::SUB)) {
            nibbles::read(bytes, &LEVELS, out);
        }
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let mut scales = [0.0; SUB_BLOCKS / 2];
        for (scale, x) in scales.iter_mut().zip(x.chunks_exact(Self::SUB)) {
            let top = top(x);
            if top.abs() >= NOTHING {
                *scale = search(x, top, 1.0 / (-top / f32::from(LEVELS[0])), -7..8);
            }
        }
        let step = -top(&scales) / 32.0;
        let reciprocal = inverse(step);
        block.fill(0);
        put_half(block, Self::D, step);
        let mut high = 0;
        for (j, (scale, x)) in scales.iter().zip(x.chunks_exact(Self::SUB)).enumerate() {
            let scale = even(reciprocal * scale, -32, 31);
            let of_indices = inverse(step * scale as f32);
            nibbles::write(x, &mut block[NIBBLES + EACH * j..][..EACH], |v| nearest(v * of_indices));
            let stored = (scale + 32) as u16;
            block[LOW_SCALES + j / 2] |= (stored as u8 & 15) << (j % 2 * 4);
            high |= (stored >> 4) << (2 * j);
        }
        block[HIGH_SCALES..][..2].copy_from_slice(&high.to_le_bytes());
    }
}
