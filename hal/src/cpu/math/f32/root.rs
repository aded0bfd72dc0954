//! rsqrt and recip.

use super::base::*;

/// Returns 1/sqrt(z) for normal z.
#[inline(always)]
fn rsqrt_normal(z: f32) -> f32 {
    let y = rsqrt_rough(z);
    let h = z * y;
    let e = (-z.mul_add(y, -h)).mul_add(y, (-h).mul_add(y, 1.0));
    (0.5 * y).mul_add(e, y)
}

/// 1/sqrt(x), within 1 ulp; infinite with the sign of x at zero, NaN below.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    // scale by powers of two, which does not change the significand
    let small = x < f32::MIN_POSITIVE;
    let z = if small { x * const { hex("0x1p24") } } else { x };
    let y = rsqrt_normal(z) * if small { const { hex("0x1p12") } } else { 1.0 };
    let y = if x == f32::INFINITY { 0.0 } else { y };
    let y = if x < 0.0 { f32::NAN } else { y };
    let y = if x.is_nan() { x } else { y };
    if x == 0.0 { f32::INFINITY.copysign(x) } else { y }
}

/// 1/x, correctly rounded.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    1.0 / x
}
