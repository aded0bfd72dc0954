//! The pieces that several recipes share.

use super::Narrow;

pub const LOG2_E: f32 = f(0x3fb8_aa3b);
pub const LN_2: f32 = f(0x3f31_7218);
pub const HALF_PI: f32 = f(0x3fc9_0fdb);

/// 1.5 · 2²³: adding it rounds to an integer, which then stands in the low bits.
pub const MAGIC: f32 = 12_582_912.0;
/// The same plus the exponent's bias, for [`power_of_two`].
pub const MAGIC_BIASED: f32 = MAGIC + 127.0;

/// The f32 with these bits; coefficients are written so.
#[inline(always)]
pub const fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// The polynomial with these coefficients, from the highest power down, in Horner's order with an
/// fma a step.
#[inline(always)]
pub fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for &coefficient in &coefficients[1..] {
        value = value.mul_add(x, coefficient);
    }
    value
}

/// 2ᵏ from the sum k + [`MAGIC_BIASED`], for -127 < k < 128.
#[inline(always)]
pub fn power_of_two(biased: f32) -> f32 {
    f32::from_bits(biased.to_bits() << 23)
}

/// The smaller of both; a NaN `x` stays one.
#[inline(always)]
pub fn at_most(x: f32, limit: f32) -> f32 {
    if x > limit { limit } else { x }
}

/// The larger of both; a NaN `x` stays one.
#[inline(always)]
pub fn at_least(x: f32, limit: f32) -> f32 {
    if x < limit { limit } else { x }
}

/// `to` where `x` is `hard`. A few results of f16 lie nearer to a tie than an f32's unit, so that
/// the recipe in f32 cannot tell the side: their inputs are moved a little towards it. bf16 has
/// none (and f8e4m3 has no such inputs).
#[inline(always)]
pub fn moved<T: Narrow>(x: f32, hard: f32, to: f32) -> f32 {
    if !T::WIDE && x == hard { to } else { x }
}

/// The bit of the sign.
#[inline(always)]
pub fn sign_of(x: f32) -> u32 {
    x.to_bits() & 0x8000_0000
}

/// `x` with this bit of the sign flipped.
#[inline(always)]
pub fn xor_sign(x: f32, sign: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ sign)
}

/// 1/d to about 2⁻²⁴: a guess by the bits, one step of the third order, one of the second.
#[inline(always)]
pub fn reciprocal(d: f32) -> f32 {
    let guess = f32::from_bits(0x7ef3_1000_u32.wrapping_sub(d.to_bits()));
    let error = (-d).mul_add(guess, 1.0);
    let better = guess.mul_add(error.mul_add(error, error), guess);
    let error = (-d).mul_add(better, 1.0);
    better.mul_add(error, better)
}
