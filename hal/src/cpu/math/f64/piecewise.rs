//! hard_sigmoid, hard_swish, selu and celu: functions of pieces, of which none or one is
//! transcendental.

use super::base::{TWO_M54, expm1_quarter};
use super::exp::expm1;

/// 1/6.
const SIXTH: f64 = f64::from_bits(0x3fc5_5555_5555_5555);
const SIXTH_LO: f64 = f64::from_bits(0x3c65_5555_5555_5555);
/// The constant s of SELU, and s a.
const S: f64 = f64::from_bits(0x3ff0_cfab_d6a9_1132);
const SA: f64 = f64::from_bits(0x3ffc_212c_c640_f031);

/// min(max(x/6 + 1/2, 0), 1): (v + 3) / 6 with x limited to -3 .. 3.
#[inline(always)]
pub fn hard_sigmoid(x: f64) -> f64 {
    let v = if x < -3.0 { -3.0 } else { x };
    let v = if v > 3.0 { 3.0 } else { v };
    let y = v + 3.0;
    let lo = v - (y - 3.0);
    y.mul_add(SIXTH, y.mul_add(SIXTH_LO, lo * SIXTH))
}

/// x min(max(x/6 + 1/2, 0), 1); -0 up to -3, also at minus infinity.
#[inline(always)]
pub fn hard_swish(x: f64) -> f64 {
    (if x < -3.0 { -3.0 } else { x }) * hard_sigmoid(x)
}

/// SELU: s x above zero, else s a (e^x - 1).
#[inline(always)]
pub fn selu(x: f64) -> f64 {
    let quarter = expm1_quarter(x);
    let value = (4.0 * SA).mul_add(quarter.hi, 4.0 * SA * quarter.lo);
    let value = if x < -40.0 { -SA } else { value };
    let value = if x.abs() < TWO_M54 { SA * x } else { value };
    if x > 0.0 { S * x } else { value }
}

/// x if x > 0, else alpha (e^(x / alpha) - 1).
#[inline(always)]
pub fn celu(x: f64, alpha: f64) -> f64 {
    let t = x / alpha;
    let power = expm1(t);
    // what t lost, times alpha, with the weight e^t
    let rest = (power + 1.0) * (-t).mul_add(alpha, x);
    let finite = power < f64::INFINITY && t.abs() < f64::INFINITY;
    let value = if finite { alpha.mul_add(power, rest) } else { alpha * power };
    // the curve is below the precision, and t may have lost bits as a subnormal
    let value = if t.abs() < TWO_M54 { x } else { value };
    if x > 0.0 { x } else { value }
}
