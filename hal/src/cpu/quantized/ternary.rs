//! tq1_0 and tq2_0: 256 integers from -1 to 1 with one scale.

use super::format::{Format, Summand, put_half};
use super::rounding::{away, inverse, top};
use crate::GgmlDType;

/// Quantizes to integers from 0 to 2. Returns the scale.
#[inline(always)]
fn trits(x: &[f32], out: &mut [u8]) -> f32 {
    let scale = top(x).abs();
    let inverse = inverse(scale);
    out.iter_mut().zip(x).for_each(|(trit, v)| *trit = (away(v * inverse, -1, 1) + 1) as u8);
    scale
}

/// Five integers in the digits of a byte: the byte is their number in base 3, the first one the
/// highest digit, times 256 / 243, rounded up.
pub(super) struct TQ1_0;

/// Runs of elements: the first element, the elements between digits, and the digits in a byte.
const RUNS: [(usize, usize, usize); 3] = [(0, 32, 5), (160, 16, 5), (240, 4, 4)];
const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

impl Format for TQ1_0 {
    const FORMAT: GgmlDType = GgmlDType::TQ1_0;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 52;

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        let mut bytes = block;
        for (first, apart, digits) in RUNS {
            for (out, power) in out[first..].chunks_exact_mut(apart).zip(POWERS).take(digits) {
                for (q, byte) in out.iter_mut().zip(bytes) {
                    *q = (u16::from(byte.wrapping_mul(power)) * 3 / 256) as i8 - 1;
                }
            }
            bytes = &bytes[apart..];
        }
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let mut digits = [0; 256];
        let scale = trits(x, &mut digits);
        let mut bytes = &mut block[..Self::D];
        for (first, apart, count) in RUNS {
            let (run, rest) = bytes.split_at_mut(apart);
            for (l, byte) in run.iter_mut().enumerate() {
                let number =
                    (0..5).fold(0, |n, k| 3 * n + if k < count { u16::from(digits[first + apart * k + l]) } else { 0 });
                *byte = (number * 256).div_ceil(243) as u8;
            }
            bytes = rest;
        }
        put_half(block, Self::D, scale);
    }
}

/// Four integers in the bit pairs of a byte.
pub(super) struct TQ2_0;

impl Format for TQ2_0 {
    const FORMAT: GgmlDType = GgmlDType::TQ2_0;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 64;

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (run, out) in out.chunks_exact_mut(32).enumerate() {
            for (q, byte) in out.iter_mut().zip(&block[run / 4 * 32..]) {
                *q = (byte >> (run % 4 * 2) & 3) as i8 - 1;
            }
        }
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let mut pairs = [0; 256];
        let scale = trits(x, &mut pairs);
        for (half, pairs) in block.chunks_exact_mut(32).zip(pairs.chunks_exact(128)) {
            for (l, byte) in half.iter_mut().enumerate() {
                *byte = (0..4).fold(0, |byte, p| byte | pairs[32 * p + l] << (2 * p));
            }
        }
        put_half(block, Self::D, scale);
    }
}
