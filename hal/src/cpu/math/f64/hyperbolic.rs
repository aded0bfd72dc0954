//! sinh, cosh and tanh, from a quarter of exp(|x|) - 1 (of exp(|2x|) - 1 for tanh) and one
//! division.

use super::base::{TWO_M28, expm1_quarter, fast_two_sum, two_sum};

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let ax = x.abs();
    let a = expm1_quarter(ax);
    let d = two_sum(a.hi, 0.25);
    let d_lo = d.lo + a.lo;
    let w = 1.0 / d.hi;
    let n = 0.25 * a.hi;
    let q = n * w;
    let rest = (-q).mul_add(d_lo, 0.25_f64.mul_add(a.lo, (-q).mul_add(d.hi, n)));
    let sum = fast_two_sum(a.hi, q);
    let value = 2.0 * (sum.hi + (sum.lo + (a.lo + rest * w)));
    let value = if ax > 710.5 { f64::INFINITY } else { value };
    if ax < TWO_M28 { x } else { value.copysign(x) }
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let ax = x.abs();
    let a = expm1_quarter(ax);
    let b = two_sum(a.hi, 0.25);
    let b_lo = b.lo + a.lo;
    let w = 0.0625 / b.hi;
    let w_lo = (-w).mul_add(b_lo, (-w).mul_add(b.hi, 0.0625)) * (16.0 * w);
    let sum = fast_two_sum(b.hi, w);
    let value = 2.0 * (sum.hi + (sum.lo + (b_lo + w_lo)));
    if ax > 710.5 { f64::INFINITY } else { value }
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let ax = x.abs();
    let a = expm1_quarter(ax + ax);
    let d = two_sum(a.hi, 0.5);
    let d_lo = d.lo + a.lo;
    let w = 1.0 / d.hi;
    let q = a.hi * w;
    let rest = (-q).mul_add(d_lo, (-q).mul_add(d.hi, a.hi) + a.lo);
    let value = rest.mul_add(w, q);
    let value = if ax > 22.0 { 1.0 } else { value };
    if ax < TWO_M28 { x } else { value.copysign(x) }
}
