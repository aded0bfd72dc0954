//! exp, exp2 and expm1.

use super::Narrow;
use super::common::{LN_2, LOG2_E, MAGIC_BIASED, at_least, at_most, f, horner, moved, power_of_two};

/// Returns r and 2ᵏ with x = k ln 2 + r, for |x| < 87.
#[inline(always)]
pub(super) fn split(x: f32) -> (f32, f32) {
    let t = x.mul_add(LOG2_E, MAGIC_BIASED);
    let r = (t - MAGIC_BIASED).mul_add(-LN_2, x);
    (r, power_of_two(t))
}

/// e^(x/2) for |x| < 174.
#[inline(always)]
pub(super) fn exp_half(x: f32) -> f32 {
    let t = x.mul_add(0.5 * LOG2_E, MAGIC_BIASED);
    let r = (t - MAGIC_BIASED).mul_add(-2.0 * LN_2, x);
    horner(r, [f(0x3987_cfce), f(0x3b2b_9d0d), f(0x3caa_ad40), f(0x3dff_fee6), f(0x3eff_fff3), 1.0]) * power_of_two(t)
}

/// eʳ for |r| <= 0.348.
#[inline(always)]
fn polynomial(r: f32) -> f32 {
    horner(r, [f(0x3c07_c488), f(0x3d2b_99e3), f(0x3e2a_b32e), f(0x3eff_ff9a), f(0x3f7f_ffe8), 1.0])
}

/// eˣ for x <= 0, over the whole range of f32, for softmax (`docs/numerics/norm.md`). The relative
/// error is below 2⁻¹⁹; the result is not rounded to the type.
#[inline(always)]
pub fn exp_down(x: f32) -> f32 {
    let within = at_least(x, -104.0);
    let t = within.mul_add(LOG2_E, MAGIC_BIASED);
    let r = (t - MAGIC_BIASED).mul_add(-LN_2, within);
    // 2ᵏ carries an extra factor of 2⁶⁴, which keeps it normal.
    polynomial(r) * f((t.to_bits() << 23).wrapping_add(64 << 23)) * f((127 - 64) << 23)
}

/// eˣ.
#[inline(always)]
pub fn exp<T: Narrow>(x: f32) -> f32 {
    if T::WIDE {
        let root = exp_half(at_least(at_most(x, 100.0), -100.0));
        root * root
    } else {
        let within = at_least(at_most(x, 20.0), -20.0);
        let (r, scale) = split(moved::<T>(within, f(0x3bef_2000), f(0x3bef_1800)));
        polynomial(r) * scale
    }
}

/// 2ˣ.
#[inline(always)]
pub fn exp2<T: Narrow>(x: f32) -> f32 {
    let (half, limit) = if T::WIDE { (0.5, 140.0) } else { (1.0, 30.0) };
    let within = at_least(at_most(x, limit), -limit);
    let within = moved::<T>(within, f(0x3a38_a000), f(0x3a38_a800));
    let t = within.mul_add(half, MAGIC_BIASED);
    let r = within.mul_add(half, -(t - MAGIC_BIASED));
    let power = horner(r, [f(0x3aad_fdf7), f(0x3c1e_769e), f(0x3d63_5b52), f(0x3e75_fcd9), f(0x3f31_721a), 1.0])
        * power_of_two(t);
    if T::WIDE { power * power } else { power }
}

/// eˣ - 1, but 0 at -0; WIDE: for results up to the largest of f32.
#[inline(always)]
pub(super) fn expm1_unsigned<const WIDE: bool>(x: f32) -> f32 {
    let (top, one, offset) = if WIDE { (88.8, 0.5, MAGIC_BIASED - 1.0) } else { (20.0, 1.0, MAGIC_BIASED) };
    let within = at_least(at_most(x, top), -20.0);
    let t = within.mul_add(LOG2_E, offset);
    let r = (t - offset).mul_add(-LN_2, within);
    let reduced = horner(r, [f(0x3c08_918e), f(0x3d2b_7d22), f(0x3e2a_ac8e), f(0x3eff_ff58), 1.0]) * r;
    let scale = power_of_two(t);
    let value = scale.mul_add(reduced, scale - one);
    if WIDE { 2.0 * value } else { value }
}

/// eˣ - 1.
#[inline(always)]
pub fn expm1<T: Narrow>(x: f32) -> f32 {
    (if T::WIDE { expm1_unsigned::<true>(x) } else { expm1_unsigned::<false>(x) }).copysign(x)
}
