//! softplus and mish, from e^-|x|.

use super::activations::{gate_edges, size_at_most};
use super::base::{Exp, Pair, fast_two_sum, pow2, scale, two_sum};
use super::exp::exp;
use super::log::log1p_pair;

/// Returns exp(x) as a pair, for x from -40 to 0.
#[inline(always)]
fn exp_pair(x: f64) -> Pair {
    let e = Exp::base_e(x, 0.0);
    let s = pow2(e.n);
    let sum = fast_two_sum(s, s * e.r);
    fast_two_sum(sum.hi, s.mul_add(e.tail, sum.lo))
}

/// log(1 + e^x).
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    let power = exp_pair(-size_at_most(x, 40.0));
    let log = log1p_pair(power.hi, power.lo);
    let sum = two_sum(if x > 0.0 { x } else { 0.0 }, log.hi);
    let value = sum.hi + (sum.lo + log.lo);
    let value = if x > 40.0 { x } else { value };
    if x < -40.0 { exp(x) } else { value }
}

/// x tanh(softplus(x)); -0 at minus infinity.
#[inline(always)]
pub fn mish(x: f64) -> f64 {
    // With E = exp(-|x|), the factor of x is (1 + 2 E) / (1 + 2 E + 2 E^2), or below zero
    // E (2 + E) / (2 + 2 E + E^2), whose power of two is applied last.
    let below = x < 0.0;
    let e = Exp::base_e(-size_at_most(x, 800.0), 0.0);
    let power = e.value();
    let one = if below { 2.0 } else { 1.0 };
    let share = if below { power } else { power + power };
    let n = two_sum(one, share);
    let d = two_sum(one, share.mul_add(power, power + power));
    let w = 1.0 / d.hi;
    let q = n.hi * w;
    let q_lo = (-q).mul_add(d.lo, (-q).mul_add(d.hi, n.hi) + n.lo) * w;
    let c = if below { x.mul_add(e.above_one(), x) } else { x };
    let value = c.mul_add(q, c * q_lo);
    gate_edges(x, 800.0, if below { scale(value, e.n) } else { value })
}
