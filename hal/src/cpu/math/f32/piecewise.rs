//! hard_sigmoid, hard_swish, selu and celu: functions of pieces, of which none or one is
//! transcendental.

use super::base::*;
use super::exp::{exp, expm1_parts};

/// min(max(x/6 + 1/2, 0), 1), within 1 ulp: (v + 3) / 6 with x limited to -3 .. 3.
#[inline(always)]
pub fn hard_sigmoid(x: f32) -> f32 {
    const SIXTH: f32 = hex("0x1.555556p-3");
    const SIXTH_LOW: f32 = hex("-0x1.555556p-28");
    let v = at_most(at_least(x, -3.0), 3.0);
    let y = v + 3.0;
    let low = v - (y - 3.0);
    y.mul_add(SIXTH, y.mul_add(SIXTH_LOW, low * SIXTH))
}

/// x min(max(x/6 + 1/2, 0), 1), within 2 ulp; -0 up to -3, also at minus infinity.
#[inline(always)]
pub fn hard_swish(x: f32) -> f32 {
    at_least(x, -3.0) * hard_sigmoid(x)
}

/// SELU, within 2 ulp.
#[inline(always)]
pub fn selu(x: f32) -> f32 {
    // the constant s, and s a in two parts
    const S: f32 = hex("0x1.0cfabep0");
    const SA: f32 = hex("0x1.c212ccp0");
    const SA_LOW: f32 = hex("0x1.903c0cp-26");
    let (u, v) = expm1_parts(at_least(x, -18.0));
    let y = SA.mul_add(u, SA.mul_add(v, SA_LOW * u)).copysign(x);
    if x > 0.0 { S * x } else { y }
}

/// x above zero, alpha (exp(x / alpha) - 1) elsewhere, within 2 ulp.
#[inline(always)]
pub fn celu(x: f32, alpha: f32) -> f32 {
    let t = x / alpha;
    // what t lost, times alpha; its weight is exp(t)
    let rest = (-t).mul_add(alpha, x);
    let (u, v) = expm1_parts(at_least(t, -18.0));
    let near_rest = if t < -18.0 { 0.0 } else { rest };
    let near = alpha.mul_add(u, ((u + v) + 1.0).mul_add(near_rest, alpha * v));
    // t is positive for a negative alpha only
    let power = exp(t);
    let far = if power < f32::INFINITY { alpha.mul_add(power, power * rest) } else { alpha * power };
    let y = if t > 88.0 { far } else { near };
    // the curve is below the precision, and t may have lost bits as a subnormal
    let y = if t.abs() < const { hex("0x1p-25") } { x } else { y };
    if x > 0.0 { x } else { y }
}
