//! exp, exp2 and expm1.

use super::base::*;

/// e to the power x, within 1 ulp.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = at_most(at_least(x, -104.0), 89.0);
    let t = x.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, x));
    let (first, second) = split_scale(t);
    expm1_poly(r).mul_add(first, first) * second
}

/// 2 to the power x, within 1 ulp.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = at_most(at_least(x, -151.0), 128.0);
    let t = x + ROUNDER;
    let r = x - (t - ROUNDER);
    let (first, second) = split_scale(t);
    exp2m1_poly(r).mul_add(first, first) * second
}

/// exp(x) - 1 for x from -18 to 88, as a leading sum and its correction.
#[inline(always)]
pub(super) fn expm1_parts(x: f32) -> (f32, f32) {
    let t = x.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let high = n.mul_add(-LN2_HI, x);
    let low = n * -LN2_LO;
    let r = high + low;
    let s = scale_of(t, 0);
    let base = s - 1.0;
    let u = s.mul_add(high, base);
    let error = s.mul_add(high, (base - u) + ((s - base) - 1.0));
    (u, s.mul_add((r * r).mul_add(expm1_tail(r), low), error))
}

/// exp(x) - 1 for x from -18 to 88.
#[inline(always)]
pub(super) fn expm1_below(x: f32) -> f32 {
    let (u, v) = expm1_parts(x);
    u + v
}

/// exp(x) - 1 without cancellation near zero, within 1 ulp.
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let far = exp(x);
    let near = expm1_below(at_least(x, -18.0)).copysign(x);
    if x > 88.0 { far } else { near }
}
