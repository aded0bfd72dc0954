//! mxfp4 and nvfp4: numbers of f4e2m1 with scales of one byte.

use super::format::{Format, Scale, Summand};
use super::nibbles::{read, write};
use super::rounding::top;
use crate::{F8E4M3, GgmlDType};

/// The numbers of f4e2m1 by their bits, doubled: `kvalues_fp4` of
/// [ggml](https://github.com/ggml-org/ggml), Copyright (c) 2023-2026 The ggml authors, MIT license.
const LEVELS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Returns the index of the level nearest to `x / factor`, of two the one nearer to 0; 0 if the
/// factor is 0. Zeros have no sign.
#[inline(always)]
fn nearest(x: f32, factor: f32) -> u8 {
    const MIDDLES: [f32; 7] = [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0];
    let index: u8 = MIDDLES.iter().map(|middle| u8::from(x.abs() > middle * factor)).sum();
    match index {
        0 => 0,
        _ if factor == 0.0 => 0,
        _ if x < 0.0 => index | 8,
        _ => index,
    }
}

/// 32 indices with a power of two.
pub(super) struct MXFP4;

/// Returns half the number with these bits of f8e8m0.
#[inline(always)]
fn half_of_power(exponent: u8) -> f32 {
    f32::from_bits(match exponent {
        0 | 1 => 0x0020_0000 << exponent,
        0xff => 0x7fc0_0000,
        _ => u32::from(exponent - 1) << 23,
    })
}

impl Format for MXFP4 {
    const FORMAT: GgmlDType = GgmlDType::MXFP4;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        out[0] = Scale { factor: half_of_power(block[Self::D]), summand: 0.0 };
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        read(&block[1..], &LEVELS, out);
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        // The largest element gets a number from 4 to 8 before it is rounded.
        let exponent = ((top(x).to_bits() >> 23) as u8).saturating_sub(2);
        block[Self::D] = exponent;
        let factor = half_of_power(exponent);
        write(x, &mut block[1..], |v| nearest(v, factor));
    }
}

/// 64 indices in sub-blocks of 16, whose scales are numbers of f8e4m3 without a sign.
pub(super) struct NVFP4;

/// The bytes of scales, one per sub-block, and the bytes of a sub-block's indices.
const SCALES: usize = 4;
const EACH: usize = 8;

/// Returns half the number with these bits of f8e4m3; the sign is ignored.
#[inline(always)]
fn half_of_scale(bits: u8) -> f32 {
    F8E4M3::from_bits(bits & 0x7f).to_f32() * 0.5
}

/// Rounds a number to f8e4m3 as ggml does: halves up, and all from 248 on to the largest number.
#[inline(always)]
fn scale_of(x: f32) -> u8 {
    const SMALLEST_NORMAL: f32 = 0.015625;
    const LARGEST: u8 = 0x7e;
    if x < SMALLEST_NORMAL {
        return ((x * 512.0 + 0.5) as u8).min(7);
    }
    let bits = (x.to_bits() >> 19).div_ceil(2) - (120 << 3);
    if bits < 15 << 3 { bits as u8 } else { LARGEST }
}

impl Format for NVFP4 {
    const FORMAT: GgmlDType = GgmlDType::NVFP4;
    const SUB: usize = 16;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        for (o, &bits) in out.iter_mut().zip(block) {
            *o = Scale { factor: half_of_scale(bits), summand: 0.0 };
        }
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        for (bytes, out) in block[SCALES..].chunks_exact(EACH).zip(out.chunks_exact_mut(Self::SUB)) {
            read(bytes, &LEVELS, out);
        }
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let (scales, indices) = block.split_at_mut(SCALES);
        for ((x, scale), indices) in x.chunks_exact(Self::SUB).zip(scales).zip(indices.chunks_exact_mut(EACH)) {
            // The largest number of f4e2m1 is 6.
            *scale = scale_of(top(x).abs() / 6.0);
            let factor = half_of_scale(*scale);
            write(x, indices, |v| nearest(v, factor));
        }
    }
}
