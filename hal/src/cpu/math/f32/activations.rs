//! sigmoid, silu, gelu (tanh approximation), gelu_erf and elu.

use super::base::*;
use super::exp::expm1_below;

/// Reduces an exponent u = n ln 2 + r to (t, r), with n in the low bits of t.
#[inline(always)]
pub(super) fn exponent(u: f32) -> (f32, f32) {
    let t = u.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    (t, n.mul_add(-LN2_LO, n.mul_add(-LN2_HI, u)))
}

/// Reduces an exponent u + u_low in the same way.
#[inline(always)]
fn exponent_pair(u: f32, u_low: f32) -> (f32, f32) {
    let t = u.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    (t, n.mul_add(-LN2_HI, u) + n.mul_add(-LN2_LO, u_low))
}

/// x / (1 + exp(e)) for exponents from -30 to 86.
#[inline(always)]
fn logistic(x: f32, (t, r): (f32, f32)) -> f32 {
    let s = scale_of(t, 0);
    let q = exp_slope(r);
    let first = s * r;
    let b = s + 1.0;
    let d = q.mul_add(first, b);
    let low = q.mul_add(first, b - d) + ((s - b) + 1.0);
    let w = recip_rough(d);
    let w = recip_step(w, (-low).mul_add(w, (-d).mul_add(w, 1.0)));
    x * w
}

/// [`logistic`] for exponents from 60 to 130, and x exp(-e) for exponents from 22.
#[inline(always)]
pub(super) fn logistic_far(x: f32, (t, r): (f32, f32)) -> f32 {
    let s = f32::from_bits((191u32 << 23).wrapping_sub(t.to_bits() << 23));
    x * exp_slope(-r).mul_add(-r * s, s) * const { hex("0x1p-64") }
}

/// 1 / (1 + exp(-x)), within 1 ulp.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let far = logistic_far(1.0, exponent(at_most(-x, 110.0)));
    let near = logistic(1.0, exponent(at_least(-x, -30.0)));
    if x < -86.0 { far } else { near }
}

/// x / (1 + exp(-x)), within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    let c = at_least(x, -120.0);
    let far = logistic_far(c, exponent(-c));
    let near = logistic(x, exponent(at_least(-x, -30.0)));
    if x < -86.0 { far } else { near }
}

/// The exponent of gelu.
#[inline(always)]
fn gelu_exponent(x: f32) -> (f32, f32) {
    const A: f32 = hex("0x1.9884p0");
    const A_LOW: f32 = hex("0x1.4cf50ep-18");
    const B: f32 = hex("0x1.2444f2p-4");
    const B_LOW: f32 = hex("0x1.49b16ap-29");
    let h = x * x;
    let h_low = x.mul_add(x, -h);
    let q = h.mul_add(B, A);
    let q_low = h.mul_add(B, A - q) + h_low.mul_add(B, h.mul_add(B_LOW, A_LOW));
    let v = x * q;
    let v_low = x.mul_add(q_low, x.mul_add(q, -v));
    exponent_pair(-v, -v_low)
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let c = at_least(x, -11.0);
    let far = logistic_far(c, gelu_exponent(c));
    let near = logistic(x, gelu_exponent(at_most(x, 6.0)));
    if x < -9.75 { far } else { near }
}

/// x times the standard normal distribution function of x, within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn gelu_erf(x: f32) -> f32 {
    const Q: [f32; 9] = coefficients([
        "-0x1.4c0f68p-4",
        "-0x1.18eadep-5",
        "0x1.dc4964p-4",
        "0x1.db937cp-4",
        "-0x1.a8c05ep-4",
        "-0x1.e67484p-3",
        "0x1.17f1ccp-3",
        "0x1.042704p-1",
        "-0x1.dd50eep-1",
    ]);
    let a = at_most(x.abs(), 15.0);
    let half = 0.5 * a;
    let h = half * a;
    let h_low = half.mul_add(a, -h);
    let (t, r) = exponent_pair(-h, -h_low);
    let p = exp_slope(r);
    let d = a + 2.5;
    let d_low = a - (d - 2.5);
    let w = recip_rough(d);
    let y = a * w;
    let y = (-d_low).mul_add(y, (-d).mul_add(y, a)).mul_add(w, y);
    // keep the errors of the last two roundings
    let u = y - const { hex("0x1.c0009cp-2") };
    let c = const { hex("0x1.869ba8p-1") };
    let tail = poly(u, &Q);
    let q = tail.mul_add(u, c);
    let q_low = tail.mul_add(u, c - q);
    let first = q * r;
    let e = first.mul_add(p, q);
    let e_low = first.mul_add(p, q - e) + q_low;
    let g = e.mul_add(y, e_low * y) * scale_of(t, 64) * const { hex("0x1p-64") };
    if x < 0.0 { -g } else { x - g }
}

/// x above zero, alpha (exp(x) - 1) elsewhere, within 2 ulp.
#[inline(always)]
pub fn elu(x: f32, alpha: f32) -> f32 {
    let y = alpha * expm1_below(at_least(x, -18.0)).copysign(x);
    if x > 0.0 { x } else { y }
}
