//! gelu (tanh approximation), gelu_erf, silu, sigmoid and elu. In the far negative tails the power
//! of two is applied last, so that they stay accurate down to the subnormals.

use super::base::{Exp, Pair, bits, fast_two_sum, horner, scale, two_prod, two_sum};
use super::exp::expm1;

/// 2 sqrt(2/pi), and 0.044715 times that.
const GELU_C0: Pair = Pair { hi: f64::from_bits(0x3ff9_8845_33d4_3651), lo: f64::from_bits(0xbc9c_bc0d_30eb_fd15) };
const GELU_C1: Pair = Pair { hi: f64::from_bits(0x3fb2_444f_2a4d_8b4b), lo: f64::from_bits(0xbc26_c843_a29d_1c70) };
const PHI_0: f64 = f64::from_bits(0x3fe8_2b4b_b8c9_4dce);
const PHI: [f64; 23] = bits([
    0xbfe3_73e3_a893_c28a,
    0x3fd8_c6db_f2cf_c2b2,
    0xbfc7_dff2_bff6_83a5,
    0x3fae_ec4c_c3e4_d645,
    0xbf7e_e276_1047_cbb5,
    0xbf6c_8171_9d59_c2f7,
    0x3f5a_b825_fc07_7c9b,
    0x3f21_7a4a_e6b8_4d33,
    0xbf2e_4a42_54cf_3144,
    0xbec0_01eb_32aa_6250,
    0x3f02_6d09_6903_490d,
    0x3ea8_0b82_ff42_c55b,
    0xbed8_d4ac_3d2e_0c9f,
    0xbea5_1f5d_a86a_2661,
    0x3eb1_232c_eec6_e605,
    0x3e92_377e_26ae_3d0d,
    0xbe84_cb27_5163_155c,
    0xbe76_d1f1_7f44_c39f,
    0x3e4c_a10a_593a_839b,
    0x3e54_cb8e_84f9_7234,
    0x3e1f_964b_0783_1a49,
    0xbe25_112e_f3f3_e479,
    0xbe07_d947_993b_d73c,
]);

/// Returns x / (1 + E), or x E / (1 + E) if the sigmoid's argument is negative; E = exp(-(v +
/// v_lo)), v >= 0.
#[inline(always)]
fn logistic(v: f64, v_lo: f64, below: bool, x: f64) -> f64 {
    let e = Exp::base_e(-v, -v_lo);
    let d = fast_two_sum(1.0, e.value());
    let n = if below { x.mul_add(e.above_one(), x) } else { x };
    let w = 1.0 / d.hi;
    let q = n * w;
    let rest = (-q).mul_add(d.lo, (-q).mul_add(d.hi, n));
    let value = rest.mul_add(w, q);
    if below { scale(value, e.n) } else { value }
}

#[inline(always)]
pub(super) fn size_at_most(x: f64, limit: f64) -> f64 {
    let ax = x.abs();
    if ax > limit { limit } else { ax }
}

/// Returns `value` with the sign of `x`, which a zero may have lost. Beyond the limit, returns the
/// limit of x times a sigmoid: -0 or x.
#[inline(always)]
pub(super) fn gate_edges(x: f64, limit: f64, value: f64) -> f64 {
    let value = if x > limit { x } else { value.copysign(x) };
    if x < -limit { -0.0 } else { value }
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    logistic(size_at_most(x, 800.0), 0.0, x < 0.0, 1.0)
}

/// x / (1 + e^-x); -0 at minus infinity.
#[inline(always)]
pub fn silu(x: f64) -> f64 {
    gate_edges(x, 800.0, logistic(size_at_most(x, 800.0), 0.0, x < 0.0, x))
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); -0 at minus infinity.
#[inline(always)]
pub fn gelu(x: f64) -> f64 {
    let a = size_at_most(x, 24.0);
    let square = two_prod(a, a);
    let t = two_prod(GELU_C1.hi, square.hi);
    let t_lo = GELU_C1.hi.mul_add(square.lo, GELU_C1.lo.mul_add(square.hi, t.lo));
    let c = two_sum(GELU_C0.hi, t.hi);
    let c_lo = c.lo + (t_lo + GELU_C0.lo);
    let v = two_prod(a, c.hi);
    gate_edges(x, 24.0, logistic(v.hi, a.mul_add(c_lo, v.lo), x < 0.0, x))
}

/// x Phi(x), with Phi the standard normal distribution function; -0 at minus infinity.
#[inline(always)]
pub fn gelu_erf(x: f64) -> f64 {
    let a = size_at_most(x, 40.0);
    let square = two_prod(a, a);
    let e = Exp::base_e(-0.5 * square.hi, -0.5 * square.lo);
    // t = (a - 4)/(a + 4)
    let d = two_sum(a, 4.0);
    let n = two_sum(a, -4.0);
    let w = 1.0 / d.hi;
    let q = n.hi * w;
    let t = (-q).mul_add(d.lo, (-q).mul_add(d.hi, n.hi) + n.lo).mul_add(w, q);
    // g = F(t)/(a + 4), with the rounding error of F's last step added back
    let b = horner(t, &PHI);
    let f = b.mul_add(t, PHI_0);
    let f_lo = b.mul_add(t, PHI_0 - f);
    let g = f * w;
    let g = (-g).mul_add(d.lo, (-g).mul_add(d.hi, f) + f_lo).mul_add(w, g);
    let below = x < 0.0;
    let m = if below { x * g } else { g };
    let s = scale(m.mul_add(e.above_one(), m), e.n);
    let value = if below { s } else { (-x).mul_add(s, x) };
    gate_edges(x, 40.0, value)
}

/// x if x > 0, else alpha (e^x - 1).
#[inline(always)]
pub fn elu(x: f64, alpha: f64) -> f64 {
    let below = alpha * expm1(x);
    if x > 0.0 { x } else { below }
}
