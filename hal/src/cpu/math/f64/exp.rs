//! exp, exp2 and expm1.

use super::base::{Exp, TWO_M54, expm1_quarter};

/// e^x.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let value = Exp::base_e(x, 0.0).value();
    let value = if x < -750.0 { 0.0 } else { value };
    if x > 720.0 { f64::INFINITY } else { value }
}

/// 2^x.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let value = Exp::base_2(x, 0.0).value();
    let value = if x < -1080.0 { 0.0 } else { value };
    if x > 1030.0 { f64::INFINITY } else { value }
}

/// e^x - 1, accurate near zero.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let quarter = expm1_quarter(x);
    let value = 4.0 * (quarter.hi + quarter.lo);
    let value = if x > 710.0 { f64::INFINITY } else { value };
    let value = if x < -40.0 { -1.0 } else { value };
    if x.abs() < TWO_M54 { x } else { value }
}
