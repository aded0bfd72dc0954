//! softplus and mish, from e^-|x| as a pair.

use super::base::*;
use super::log::log1p_pair;

/// Below this, log(1 + E) is E to 2^-32.
const DEEP: f32 = -22.0;
const TWO_M64: f32 = hex("0x1p-64");

/// Returns exp(x) as a pair, for x from -120 to 0; if `deep`, 2^64 times that.
#[inline(always)]
fn exp_pair(x: f32, deep: bool) -> (f32, f32) {
    let t = x.mul_add(LOG2_E, ROUNDER);
    let n = t - ROUNDER;
    let high = n.mul_add(-LN2_HI, x);
    let low = n * -LN2_LO;
    let r = high + low;
    let s = scale_of(t, if deep { 64 } else { 0 });
    let u = s.mul_add(high, s);
    let v = s.mul_add((r * r).mul_add(expm1_tail(r), low), s.mul_add(high, s - u));
    let sum = u + v;
    (sum, (u - sum) + v)
}

/// log(1 + exp(x)), within 1 ulp.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    let deep = x < DEEP;
    let (power, power_low) = exp_pair(at_least(-x.abs(), -120.0), deep);
    let (u, v) = log1p_pair(power, power_low);
    let sum = two_sum(if x < 0.0 { 0.0 } else { x }, u);
    let y = sum.0 + (sum.1 + v);
    let y = if deep { power * TWO_M64 } else { y };
    if x > 22.0 { x } else { y }
}

/// x tanh(softplus(x)), within 2 ulp; -0 at minus infinity.
#[inline(always)]
pub fn mish(x: f32) -> f32 {
    // With E = exp(-|x|), the factor of x is (1 + 2 E) / (1 + 2 E + 2 E^2), or below zero
    // E (2 + E) / (2 + 2 E + E^2).
    let below = x < 0.0;
    let deep = x < DEEP;
    let x = at_least(x, -120.0);
    let (scaled, scaled_low) = exp_pair(at_least(-x.abs(), -120.0), deep);
    let (power, power_low) = if deep { (0.0, 0.0) } else { (scaled, scaled_low) };
    let one = if below { 2.0 } else { 1.0 };
    let share = if below { power } else { 2.0 * power };
    let share_low = if below { power_low } else { 2.0 * power_low };
    let n = two_sum(one, share);
    let n_low = n.1 + share_low;
    let d = two_sum(one, share.mul_add(power, 2.0 * power));
    let d_low = 2.0f32.mul_add(power_low, d.1);
    let w = recip_rough(d.0);
    let q = n.0 * w;
    let q = (-q).mul_add(d.0, n.0).mul_add(w, q);
    let q_low = ((-q).mul_add(d_low, (-q).mul_add(d.0, n.0)) + n_low) * w;
    let g = scaled * q;
    let g_low = scaled.mul_add(q, -g) + scaled_low.mul_add(q, scaled * q_low);
    let factor = if below { g } else { q };
    let factor_low = if below { g_low } else { q_low };
    let y = x.mul_add(factor, x * factor_low).copysign(x);
    let y = if deep { y * TWO_M64 } else { y };
    if x > 22.0 { x } else { y }
}
