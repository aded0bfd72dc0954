//! sinh, cosh and tanh.

use super::base::*;

/// The reduction a = n ln 2 + r, r = high + low, for a up to 44.
struct Parts {
    high: f32,
    /// cosh(r) - 1.
    cosh: f32,
    /// sinh(r) - high.
    sinh: f32,
    /// 2^(n-1) and 2^(-n-1).
    up: f32,
    down: f32,
}

#[inline(always)]
fn parts(a: f32) -> Parts {
    const C: [f32; 3] = coefficients(["0x1.6d5402p-10", "0x1.5554e2p-5", "0x1p-1"]);
    const S: [f32; 3] = coefficients(["0x1.a28eaep-13", "0x1.110fe2p-7", "0x1.555556p-3"]);
    let t = a.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let high = n.mul_add(-LN2_HI, a);
    let low = n * -LN2_LO;
    let r = high + low;
    let z = r * r;
    let k = t.to_bits() << 23;
    Parts {
        high,
        cosh: poly(z, &C) * z,
        sinh: (r * z).mul_add(poly(z, &S), low),
        up: f32::from_bits(k.wrapping_add(126 << 23)),
        down: f32::from_bits((126u32 << 23).wrapping_sub(k)),
    }
}

/// exp(a) / 2 for a above 44.
#[inline(always)]
fn half_exp(a: f32) -> f32 {
    let a = at_most(a, 90.0);
    let t = a.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, a));
    let s = scale_of(t, -65);
    exp_slope(r).mul_add(r * s, s) * const { hex("0x1p64") }
}

/// The hyperbolic sine, within 1 ulp.
#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    let a = x.abs();
    let (h, far) = (parts(a), half_exp(a));
    let (sum, dif) = (h.up + h.down, h.up - h.down);
    let u = sum.mul_add(h.high, dif);
    let error = sum.mul_add(h.high, dif - u);
    let y = u + sum.mul_add(h.sinh, dif.mul_add(h.cosh, error));
    (if a > 44.0 { far } else { y }).copysign(x)
}

/// The hyperbolic cosine, within 1 ulp.
#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    let a = x.abs();
    let (h, far) = (parts(a), half_exp(a));
    let (sum, dif) = (h.up + h.down, h.up - h.down);
    let u = dif.mul_add(h.high, h.up);
    let error = dif.mul_add(h.high, h.up - u);
    let y = u + (h.down + sum.mul_add(h.cosh, dif.mul_add(h.sinh, error)));
    if a > 44.0 { far } else { y }
}

/// The hyperbolic tangent, within 1 ulp.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    const Q: [f32; 5] =
        coefficients(["-0x1.6452a4p-8", "0x1.4e27d4p-6", "-0x1.b79d74p-5", "0x1.110258p-3", "-0x1.55551cp-2"]);
    // exp(2 r) = 1 + r p
    const P: [f32; 6] =
        coefficients(["0x1.6d56ecp-4", "0x1.122d44p-2", "0x1.5554ep-1", "0x1.5554a8p0", "0x1p1", "0x1p1"]);
    let a = x.abs();
    let z = x * x;
    let near = a.mul_add(poly(z, &Q) * z, a);

    let v = at_most(a, 9.5);
    let t = v.mul_add(2.0 * LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-0.5 * LN2_LO, n.mul_add(-0.5 * LN2_HI, v));
    let p = poly(r, &P);
    let s = scale_of(t, 0);
    let first = s * r;
    let b = s + 1.0;
    let d = p.mul_add(first, b);
    let low = p.mul_add(first, b - d);
    let w = recip_rough(d);
    let w = w.mul_add((-low).mul_add(w, (-d).mul_add(w, 1.0)), w);
    let far = (-2.0f32).mul_add(w, 1.0);
    (if a < 0.6 { near } else { far }).copysign(x)
}
