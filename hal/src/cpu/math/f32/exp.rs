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

/// exp(x) - 1 without cancellation near zero, within 1 ulp.
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let c = at_most(at_least(x, -18.0), 89.0);
    let t = c.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let high = n.mul_add(-LN2_HI, c);
    let low = n * -LN2_LO;
    let r = high + low;
    let top = n == 128.0;
    let s = scale_of(t - if top { 1.0 } else { 0.0 }, 0);
    let one = if top { 0.0 } else { 1.0 };
    let base = s - one;
    let u = s.mul_add(high, base);
    let error = s.mul_add(high, (base - u) + ((s - base) - one));
    let y = u + s.mul_add((r * r).mul_add(expm1_tail(r), low), error);
    (y * if top { 2.0 } else { 1.0 }).copysign(x)
}
