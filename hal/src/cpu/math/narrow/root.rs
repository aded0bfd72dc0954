//! rsqrt, recip, and the root within other functions. Of sqrt itself f32's own rounds, again, to
//! the same.

use super::Narrow;
use super::common::{at_most, f, sign_of, xor_sign};

/// 1/√x for x > 0, off by 2⁻¹³ at most: a guess by the bits, and a step of the third order.
#[inline(always)]
fn inverse_root(x: f32) -> f32 {
    let y = f32::from_bits(0x5f37_5a86_u32.wrapping_sub(x.to_bits() >> 1));
    let e = (-(x * y)).mul_add(y, 1.0);
    (y * e).mul_add(e.mul_add(0.375, 0.5), y)
}

/// √x for a positive normal x below 2¹²⁰, and 0 at 0, with its sign.
#[inline(always)]
pub(super) fn root(x: f32) -> f32 {
    let y = inverse_root(x);
    let s = x * y;
    (-s).mul_add(s, x).mul_add(0.5 * y, s)
}

/// 1/x. Rounding f32's quotient again is rounding once.
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
