//! rsqrt and recip.

use super::base::two_prod;

/// 1 / x.
#[inline(always)]
pub fn recip(x: f64) -> f64 {
    1.0 / x
}

/// 1 / sqrt(x); at zero, an infinity with the sign of the zero.
#[inline(always)]
pub fn rsqrt(x: f64) -> f64 {
    let r = 1.0 / x.sqrt();
    let h = two_prod(x, r);
    let e = (-h.lo).mul_add(r, (-h.hi).mul_add(r, 1.0));
    let value = (0.5 * r).mul_add(e, r);
    if x == 0.0 || x == f64::INFINITY { r } else { value }
}
