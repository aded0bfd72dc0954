//! log, log2 and log1p.

use super::Narrow;
use super::common::{LN_2, f, horner, moved};

/// The bits of √½.
const ROOT_HALF: u32 = 0x3f35_04f3;
const EXPONENT: u32 = 0xff80_0000;

/// Splits x = 2ᵏ (1 + f) into k and f, with 1 + f between √½ and √2.
#[inline(always)]
pub(super) fn split<T: Narrow>(x: f32) -> (f32, f32) {
    let tiny = T::WIDE && x < f32::MIN_POSITIVE;
    let bias = if tiny { -64.0 } else { 0.0 };
    let x = if tiny { x * f(0x5f80_0000) } else { x };
    let exponent = x.to_bits().wrapping_sub(ROOT_HALF) & EXPONENT;
    let fraction = f32::from_bits(x.to_bits().wrapping_sub(exponent)) - 1.0;
    let k = (exponent as i32 as f32).mul_add(f(0x3400_0000), bias);
    (k, fraction)
}

/// Returns `value` if `x`, the distance of the argument from the pole, is positive; otherwise -∞ or
/// NaN.
#[inline(always)]
fn edges(x: f32, value: f32) -> f32 {
    let edge = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    if x > 0.0 { value } else { edge }
}

/// Keeps infinity and NaN. For any other x, the fma adds less than half a unit of a narrow type.
#[inline(always)]
fn top(x: f32, value: f32) -> f32 {
    x.mul_add(f(0x0000_0001), value)
}

/// ln x.
#[inline(always)]
pub fn log<T: Narrow>(x: f32) -> f32 {
    let (k, fraction) = split::<T>(x);
    let reduced = horner(
        fraction,
        [
            f(0x3db3_085f),
            -f(0x3e12_8f83),
            f(0x3e18_bea7),
            -f(0x3e29_ab10),
            f(0x3e4c_715c),
            -f(0x3e80_01a9),
            f(0x3eaa_ab1f),
            -f(0x3f00_0004),
            f(0x3f80_0001),
        ],
    ) * fraction;
    edges(x, top(x, k.mul_add(LN_2, reduced)))
}

/// log₂ x.
#[inline(always)]
pub fn log2<T: Narrow>(x: f32) -> f32 {
    let (k, fraction) = split::<T>(x);
    let value = fraction.mul_add(
        horner(
            fraction,
            [
                f(0x3e01_3d7b),
                -f(0x3e54_0971),
                f(0x3e5c_9fc9),
                -f(0x3e74_b2ad),
                f(0x3e93_6e69),
                -f(0x3eb8_ae28),
                f(0x3ef6_39b7),
                -f(0x3f38_aa38),
                f(0x3fb8_aa3b),
            ],
        ),
        k,
    );
    edges(x, top(x, value))
}

/// ln(1 + x).
#[inline(always)]
pub fn log1p<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(moved::<T>(x, -f(0x3bbf_a000), -f(0x3bbf_9800)), f(0x3bc0_6000), f(0x3bc0_6800));
    let sum = 1.0 + x;
    let exponent = sum.to_bits().wrapping_sub(ROOT_HALF) & EXPONENT;
    // Use the digits of the argument itself, not those that remain in the sum.
    let fraction = if T::WIDE {
        let scale = f32::from_bits(0x4080_0000_u32.wrapping_sub(exponent));
        (0.25 * x).mul_add(scale, 0.25_f32.mul_add(scale, -1.0))
    } else {
        let scale = f32::from_bits(0x3f80_0000_u32.wrapping_sub(exponent));
        x.mul_add(scale, scale - 1.0)
    };
    let k = exponent as i32 as f32 * f(0x3400_0000);
    let square = fraction * fraction;
    let reduced = square.mul_add(
        horner(
            fraction,
            [
                f(0x3db3_0771),
                -f(0x3e12_8a03),
                f(0x3e18_bf11),
                -f(0x3e29_ad1e),
                f(0x3e4c_699b),
                -f(0x3e80_0258),
                f(0x3eaa_ab79),
                -f(0x3eff_fffd),
            ],
        ),
        fraction,
    );
    let value = k.mul_add(LN_2, reduced);
    // The fraction is NaN at infinity.
    edges(sum, if sum < f32::INFINITY { value } else { sum }).copysign(x)
}
