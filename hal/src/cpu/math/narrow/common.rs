//! Functions and constants that several recipes share.

use super::Narrow;

pub const LOG2_E: f32 = f(0x3fb8_aa3b);
pub const LN_2: f32 = f(0x3f31_7218);
pub const HALF_PI: f32 = f(0x3fc9_0fdb);

/// 1.5 · 2²³: adding it rounds to an integer, which is then in the low bits.
pub const MAGIC: f32 = 12_582_912.0;
/// [`MAGIC`] plus the bias of the exponent, for [`power_of_two`].
pub const MAGIC_BIASED: f32 = MAGIC + 127.0;

/// Returns the f32 with these bits. Coefficients are written in this form.
#[inline(always)]
pub const fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Evaluates the polynomial by Horner's rule with one fma per step; coefficients start with the
/// highest power.
#[inline(always)]
pub fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for &coefficient in &coefficients[1..] {
        value = value.mul_add(x, coefficient);
    }
    value
}

/// Returns 2ᵏ, given the sum k + [`MAGIC_BIASED`], for -127 < k < 128.
#[inline(always)]
pub fn power_of_two(biased: f32) -> f32 {
    f32::from_bits(biased.to_bits() << 23)
}

/// Returns the smaller of both; a NaN `x` stays NaN.
#[inline(always)]
pub fn at_most(x: f32, limit: f32) -> f32 {
    if x > limit { limit } else { x }
}

/// Returns the larger of both; a NaN `x` stays NaN.
#[inline(always)]
pub fn at_least(x: f32, limit: f32) -> f32 {
    if x < limit { limit } else { x }
}

/// Returns `to` if `x` is `hard`, otherwise `x`. A few results of f16 lie closer to a tie than one
/// unit of f32, so the f32 recipe cannot decide on which side they are; their inputs are moved
/// slightly towards the correct side. bf16 has no such results (and f8e4m3 does not have these
/// inputs).
#[inline(always)]
pub fn moved<T: Narrow>(x: f32, hard: f32, to: f32) -> f32 {
    if !T::WIDE && x == hard { to } else { x }
}

/// Returns the sign bit.
#[inline(always)]
pub fn sign_of(x: f32) -> u32 {
    x.to_bits() & 0x8000_0000
}

/// Returns `x` with its sign flipped if `sign` has the sign bit set.
#[inline(always)]
pub fn xor_sign(x: f32, sign: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ sign)
}

/// Approximates 1/d with a relative error of about 2⁻²⁴: an initial guess from the bits, one
/// third-order step, then one second-order step.
#[inline(always)]
pub fn reciprocal(d: f32) -> f32 {
    let guess = f32::from_bits(0x7ef3_1000_u32.wrapping_sub(d.to_bits()));
    let error = (-d).mul_add(guess, 1.0);
    let better = guess.mul_add(error.mul_add(error, error), guess);
    let error = (-d).mul_add(better, 1.0);
    better.mul_add(error, better)
}
