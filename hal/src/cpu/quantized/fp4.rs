//! mxfp4: numbers of f4e2m1 with a scale of one byte.

use super::format::{Format, Scale, Summand};
use super::nibbles::{read, write};
use super::rounding::top;
use crate::GgmlDType;

/// The numbers of f4e2m1 by their bits, doubled: `kvalues_fp4` of
/// [ggml](https://github.com/ggml-org/ggml), Copyright (c) 2023-2026 The ggml authors, MIT license.
const LEVELS: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Returns the index of the level nearest to `x / factor`, of two the one nearer to 0. Zeros have
/// no sign.
#[inline(always)]
fn nearest(x: f32, factor: f32) -> u8 {
    const MIDDLES: [f32; 7] = [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0];
    let index: u8 = MIDDLES.iter().map(|middle| u8::from(x.abs() > middle * factor)).sum();
    if index != 0 && x < 0.0 { index | 8 } else { index }
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
