//! asin, acos and atan.

use super::base::*;

/// Returns (s, tail, half) with asin(a) = s + tail, or asin(a) = pi/2 - 2 (s + tail) if `half` is
/// set (a > 1/2).
#[inline(always)]
fn arc_sine(a: f32) -> (f32, f32, bool) {
    const Q: [f32; 5] =
        coefficients(["0x1.59effcp-5", "0x1.8b970cp-6", "0x1.748c0ep-5", "0x1.330162p-4", "0x1.5555cap-3"]);
    let half = a > 0.5;
    let z = if half { (-0.5f32).mul_add(a, 0.5) } else { a * a };
    let y = rsqrt_rough(z);
    let root = z * y;
    let root_low = (-root).mul_add(root, z) * (0.5 * y);
    let s = if half { root } else { a };
    let low = if half { root_low } else { 0.0 };
    let q = poly(z, &Q) * z;
    (s, low.mul_add(q, s.mul_add(q, low)), half)
}

/// The arc sine, within 1 ulp; NaN outside [-1, 1].
#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let a = x.abs();
    let (s, tail, half) = arc_sine(a);
    let u = (-2.0f32).mul_add(s, PIO2_HI);
    let error = (-2.0f32).mul_add(s, PIO2_HI - u);
    let far = u + (error + (-2.0f32).mul_add(tail, PIO2_LO));
    let y = if half { far } else { s + tail };
    (if a > 1.0 { f32::NAN } else { y }).copysign(x)
}

/// The arc cosine, within 1 ulp; NaN outside [-1, 1].
#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let a = x.abs();
    let (s, tail, half) = arc_sine(a);
    let near = PIO2_HI - (s.copysign(x) + (tail.copysign(x) - PIO2_LO));
    let right = 2.0 * (s + tail);
    let left = 2.0 * (PIO2_HI - (s + (tail - PIO2_LO)));
    let far = if x.is_sign_negative() { left } else { right };
    let y = if half { far } else { near };
    if a > 1.0 { f32::NAN } else { y }
}

/// The arc tangent, within 1 ulp.
#[inline(always)]
pub fn atan(x: f32) -> f32 {
    const Q: [f32; 9] = coefficients([
        "-0x1.d5a1aap-10",
        "0x1.6551e2p-7",
        "-0x1.fe7d24p-6",
        "0x1.da9c2ep-5",
        "-0x1.5825f2p-4",
        "0x1.c0946cp-4",
        "-0x1.24211ap-3",
        "0x1.9991ecp-3",
        "-0x1.55553ep-2",
    ]);
    let a = x.abs();
    let inverse = a > 1.0;
    let d = at_most(a, const { hex("0x1p60") });
    let w = recip_rough(d);
    let w = recip_step(w, (-d).mul_add(w, 1.0));
    let low = 0.5 * (-d).mul_add(w, 1.0);
    let t = if inverse { -w } else { a };
    let z = t * t;
    let u = PIO2_HI - w;
    let u_low = ((PIO2_HI - u) - w) + (PIO2_LO - low);
    let p = poly(z, &Q).mul_add(z, if inverse { -(u_low * d) } else { 0.0 });
    t.mul_add(p, if inverse { u } else { a }).copysign(x)
}
