//! sigmoid, silu, gelu (tanh form), gelu_erf and elu.

use super::base::*;
use super::exp::expm1;

/// x / (1 + exp(u + u_low)) for u up to 145.
#[inline(always)]
fn logistic(x: f32, u: f32, u_low: f32) -> f32 {
    let t = u.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-LN2_HI, u) + n.mul_add(-LN2_LO, u_low);
    let big = u > 60.0;
    let s = scale_of(t, if big { -96 } else { 0 });
    let p = expm1_poly(r);
    let one = if big { 0.0 } else { 1.0 };
    let d = s.mul_add(p, s + one);
    let below = s < one;
    let (larger, smaller) = if below { (one, s) } else { (s, one) };
    let low = s.mul_add(p, (larger - d) + smaller);
    let w = recip_rough(d);
    let w = recip_step(w, (-low).mul_add(w, (-d).mul_add(w, 1.0)));
    x * w * if big { const { hex("0x1p-96") } } else { 1.0 }
}

/// 1 / (1 + exp(-x)), within 1 ulp.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    logistic(1.0, at_most(at_least(-x, -30.0), 110.0), 0.0)
}

/// x / (1 + exp(-x)), within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    let x = at_least(x, -120.0);
    logistic(x, at_least(-x, -30.0), 0.0)
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    const A: f32 = hex("0x1.9884p0");
    const A_LOW: f32 = hex("0x1.4cf50ep-18");
    const B: f32 = hex("0x1.2444f2p-4");
    const B_LOW: f32 = hex("0x1.49b16ap-29");
    let x = at_least(x, -12.0);
    let c = at_most(x, 6.0);
    let h = c * c;
    let h_low = c.mul_add(c, -h);
    let q = h.mul_add(B, A);
    let q_low = h.mul_add(B, A - q) + h_low.mul_add(B, h.mul_add(B_LOW, A_LOW));
    let v = c * q;
    let v_low = c.mul_add(q_low, c.mul_add(q, -v));
    logistic(x, -v, -v_low)
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
    let h = a * a;
    let h_low = a.mul_add(a, -h);
    let t = h.mul_add(-0.5 * LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-LN2_HI, -0.5 * h) + n.mul_add(-LN2_LO, -0.5 * h_low);
    let p = expm1_poly(r);
    let d = a + 2.5;
    let d_low = a - (d - 2.5);
    let w = recip_rough(d);
    let y = a * w;
    let y = (-d_low).mul_add(y, (-d).mul_add(y, a)).mul_add(w, y);
    // the last two roundings are kept
    let u = y - const { hex("0x1.c0009cp-2") };
    let c = const { hex("0x1.869ba8p-1") };
    let tail = poly(u, &Q);
    let q = tail.mul_add(u, c);
    let q_low = tail.mul_add(u, c - q);
    let e = q.mul_add(p, q);
    let e_low = q.mul_add(p, q - e) + q_low;
    let g = e.mul_add(y, e_low * y) * scale_of(t, 64) * const { hex("0x1p-64") };
    if x < 0.0 { -g } else { x - g }
}

/// x above zero, alpha (exp(x) - 1) elsewhere, within 2 ulp.
#[inline(always)]
pub fn elu(x: f32, alpha: f32) -> f32 {
    let y = alpha * expm1(x);
    if x > 0.0 { x } else { y }
}
