//! The error function.

use super::base::*;

/// erf(x) = 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x, within 1 ulp.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    const NEAR: [f32; 7] = coefficients([
        "0x1.4c5cb4p-14",
        "-0x1.a5197ap-11",
        "0x1.542fecp-8",
        "-0x1.b7fec4p-6",
        "0x1.ce2d52p-4",
        "-0x1.81274p-2",
        "0x1.06eba8p-3",
    ]);
    const FAR: [f32; 7] = coefficients([
        "-0x1.5618d4p-16",
        "0x1.0a7f98p-11",
        "-0x1.63f132p-8",
        "0x1.1bf25ap-5",
        "-0x1.3ad06cp-3",
        "-0x1.d504aap-1",
        "-0x1.a0dc94p0",
    ]);
    let a = x.abs();
    let near = a.mul_add(poly(x * x, &NEAR), a);
    let b = at_most(a, 3.95);
    let q = poly(b, &FAR);
    let t = q.mul_add(b, ROUNDER);
    let r = q.mul_add(b, -(t - ROUNDER));
    let s = scale_of(t, 0);
    let far = (-s).mul_add(exp2m1_poly(r), 1.0 - s);
    (if a < 1.0 { near } else { far }).copysign(x)
}
