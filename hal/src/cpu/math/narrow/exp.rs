//! exp, exp2 and expm1.

use super::Narrow;
use super::common::{LN_2, LOG2_E, MAGIC_BIASED, at_least, at_most, f, horner, power_of_two};

/// eˣ for |x| < 87, of 11 digits.
#[inline(always)]
pub(super) fn exp_f16(x: f32) -> f32 {
    let t = x.mul_add(LOG2_E, MAGIC_BIASED);
    let r = (t - MAGIC_BIASED).mul_add(-LN_2, x);
    horner(r, [f(0x3c07_cfce), f(0x3d2b_9d0d), f(0x3e2a_ad40), f(0x3eff_fee3), f(0x3f7f_fff8), f(0x3f7f_ffff)])
        * power_of_two(t)
}

/// e^(x/2) for |x| < 174.
#[inline(always)]
pub(super) fn exp_half(x: f32) -> f32 {
    let t = x.mul_add(0.5 * LOG2_E, MAGIC_BIASED);
    let r = (t - MAGIC_BIASED).mul_add(-2.0 * LN_2, x);
    horner(r, [f(0x3987_cfce), f(0x3b2b_9d0d), f(0x3caa_ad40), f(0x3dff_fee6), f(0x3eff_fff3), 1.0]) * power_of_two(t)
}

/// eˣ.
#[inline(always)]
pub fn exp<T: Narrow>(x: f32) -> f32 {
    if T::WIDE {
        let root = exp_half(at_least(at_most(x, 100.0), -100.0));
        root * root
    } else {
        exp_f16(at_least(at_most(x, 20.0), -20.0))
    }
}

/// 2ˣ.
#[inline(always)]
pub fn exp2<T: Narrow>(x: f32) -> f32 {
    let (half, within) = if T::WIDE {
        (0.5, at_least(at_most(x, 140.0), -140.0))
    } else {
        // -25 is a tie that goes to 0 in f16.
        (1.0, if x < -24.99 { -26.0 } else { at_most(x, 30.0) })
    };
    let t = within.mul_add(half, MAGIC_BIASED);
    let r = within.mul_add(half, -(t - MAGIC_BIASED));
    let one = if T::DIGITS == 11 { f(0x3f80_0001) } else { 1.0 };
    let power = horner(r, [f(0x3aad_feac), f(0x3c1e_757c), f(0x3d63_5b4d), f(0x3e75_fcdd), f(0x3f31_7215), one])
        * power_of_two(t);
    if T::WIDE { power * power } else { power }
}

/// eˣ - 1.
#[inline(always)]
pub fn expm1<T: Narrow>(x: f32) -> f32 {
    let (top, one, offset) = if T::WIDE { (88.8, 0.5, MAGIC_BIASED - 1.0) } else { (20.0, 1.0, MAGIC_BIASED) };
    let within = at_least(at_most(x, top), -20.0);
    let t = within.mul_add(LOG2_E, offset);
    let r = (t - offset).mul_add(-LN_2, within);
    let reduced = horner(r, [f(0x3c08_918e), f(0x3d2b_7d22), f(0x3e2a_ac8e), f(0x3eff_ff58), 1.0]) * r;
    let scale = power_of_two(t);
    let value = scale.mul_add(reduced, scale - one);
    (if T::WIDE { 2.0 * value } else { value }).copysign(x)
}
