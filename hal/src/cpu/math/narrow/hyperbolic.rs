//! sinh, cosh and tanh.

use super::Narrow;
use super::common::{LN_2, LOG2_E, MAGIC_BIASED, at_most, f, horner, reciprocal};

/// The parts from which sinh and cosh are computed: cosh r, sinh r, and the halves (bf16: quarters)
/// of 2ᵏ + 2⁻ᵏ and 2ᵏ - 2⁻ᵏ.
struct Split {
    even: f32,
    odd: f32,
    sum: f32,
    gap: f32,
}

/// Splits |x| = k ln 2 + r.
#[inline(always)]
fn split<T: Narrow>(x: f32) -> Split {
    let (top, part) = if T::WIDE { (89.5, 2) } else { (20.0, 1) };
    let magnitude = at_most(x.abs(), top);
    let offset = MAGIC_BIASED - part as f32;
    let t = magnitude.mul_add(LOG2_E, offset);
    let r = (t - offset).mul_add(-LN_2, magnitude);
    let up = t.to_bits() << 23;
    let both = (254 - 2 * part) << 23;
    // If the exponent field has no room for 2⁻ᵏ, it is negligible beside 2ᵏ.
    let down = if up > both { 0 } else { both.wrapping_sub(up) };
    let (up, down) = (f32::from_bits(up), f32::from_bits(down));
    let z = r * r;
    Split {
        even: horner(z, [f(0x3ab6_652d), f(0x3d2a_e10c), f(0x3eff_ff09), f(0x3f80_0001)]),
        odd: horner(z, [f(0x3c08_8281), f(0x3e2a_a907), f(0x3f80_0001)]) * r,
        sum: up + down,
        gap: up - down,
    }
}

/// sinh x.
#[inline(always)]
pub fn sinh<T: Narrow>(x: f32) -> f32 {
    let s = split::<T>(x);
    let value = s.even.mul_add(s.gap, s.odd * s.sum);
    let value = if T::WIDE { 2.0 * value } else { value };
    // The value was computed for |x|, so restore the sign.
    value.copysign(x)
}

/// cosh x.
#[inline(always)]
pub fn cosh<T: Narrow>(x: f32) -> f32 {
    let s = split::<T>(x);
    let value = s.even.mul_add(s.sum, s.odd * s.gap);
    if T::WIDE { 2.0 * value } else { value }
}

/// tanh x.
#[inline(always)]
pub fn tanh<T: Narrow>(x: f32) -> f32 {
    let a = at_most(x.abs(), 4.55);
    let z = a * a;
    let above = horner(z, [f(0x36b7_68b3), f(0x3b27_50c4), f(0x3e00_f07f), 1.0]);
    let below = horner(z, [f(0x3936_f88f), f(0x3cb6_b647), f(0x3eeb_22e3), 1.0]);
    (a * above * reciprocal(below)).copysign(x)
}
