//! rsqrt, recip, and the square root used within other functions. sqrt itself needs no recipe:
//! f32's result, rounded again to the narrow type, is the correctly rounded one.

use super::Narrow;
use super::common::{at_most, f, sign_of, xor_sign};

/// Approximates 1/√x for x > 0 with a relative error of at most 2⁻¹³: an initial guess from the
/// bits, then one third-order step.
#[inline(always)]
fn inverse_root(x: f32) -> f32 {
    let y = f32::from_bits(0x5f37_5a86_u32.wrapping_sub(x.to_bits() >> 1));
    let e = (-(x * y)).mul_add(y, 1.0);
    (y * e).mul_add(e.mul_add(0.375, 0.5), y)
}

/// Returns √x for a positive normal x below 2¹²⁰, and a zero of the same sign for zero.
#[inline(always)]
pub(super) fn root(x: f32) -> f32 {
    let y = inverse_root(x);
    let s = x * y;
    (-s).mul_add(s, x).mul_add(0.5 * y, s)
}

/// 1/x. Rounding f32's quotient again gives the correctly rounded result.
#[inline(always)]
pub fn recip<T: Narrow>(x: f32) -> f32 {
    1.0 / x
}

/// 1/√x.
#[inline(always)]
pub fn rsqrt<T: Narrow>(x: f32) -> f32 {
    let a = x.abs();
    let tiny = T::WIDE && a < f32::MIN_POSITIVE;
    let a = match T::WIDE {
        true if tiny => a * f(0x5f80_0000),
        true => a,
        false => at_most(a, f(0x5d80_0000)),
    };
    let y = inverse_root(a);
    let y = y.mul_add((-0.5 * a * y).mul_add(y, 0.5), y);
    let y = if tiny { y * f(0x4f80_0000) } else { y };
    let y = match a {
        _ if !T::WIDE => y,
        0.0 => f32::INFINITY,
        f32::INFINITY => 0.0,
        _ if a.is_nan() => a,
        _ => y,
    };
    if x < 0.0 { f32::NAN } else { xor_sign(y, sign_of(x)) }
}
