//! asinh, acosh and atanh, as logarithms of pairs.

use super::base::{TWO_M28, fast_two_sum, two_prod, two_sum};
use super::log::{Split, log_pair, log1p_pair, split};

/// 2^28; from here up, asinh and acosh are log(2 x) to the last bit.
const BIG: f64 = f64::from_bits(0x41b0_0000_0000_0000);

/// log(2 x) for a positive finite x.
#[inline(always)]
fn log_twice(x: f64) -> f64 {
    let Split { k, m } = split(x);
    let log = log_pair(k + 1.0, m - 1.0, 0.0);
    log.hi + log.lo
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    // log(1 + a + a^2 / (1 + sqrt(1 + a^2)))
    let a = x.abs();
    let z = a * a;
    let above = fast_two_sum(a, z / (1.0 + (1.0 + z).sqrt()));
    let log = log1p_pair(above.hi, above.lo);
    let value = log.hi + log.lo;
    let value = if a > BIG { log_twice(a) } else { value };
    let value = if a < f64::INFINITY { value } else { a };
    if a < TWO_M28 { x } else { value.copysign(x) }
}

/// Inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    // log(1 + t + sqrt(t (t + 2))), t = x - 1
    let t = x - 1.0;
    let s = two_sum(t, 2.0);
    let z = two_prod(t, s.hi);
    let root = z.hi.sqrt();
    let rest = (-root).mul_add(root, z.hi) + t.mul_add(s.lo, z.lo);
    let above = fast_two_sum(root, t);
    let log = log1p_pair(above.hi, above.lo + rest * (0.5 / root));
    let value = log.hi + log.lo;
    let value = if x == 1.0 { 0.0 } else { value };
    let value = if x > BIG { log_twice(x) } else { value };
    let value = if x < f64::INFINITY { value } else { x };
    if x < 1.0 { f64::NAN } else { value }
}

/// Inverse hyperbolic tangent; NaN outside [-1, 1].
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    // log(1 + 2 a / (1 - a)) / 2
    let a = x.abs();
    let d = fast_two_sum(1.0, -a);
    let w = 1.0 / d.hi;
    let n = a + a;
    let q = n * w;
    let rest = (-q).mul_add(d.lo, (-q).mul_add(d.hi, n));
    let log = log1p_pair(q, rest * w);
    let beyond = if a == 1.0 { f64::INFINITY } else { f64::NAN };
    let value = if a < 1.0 { 0.5 * (log.hi + log.lo) } else { beyond };
    if a < TWO_M28 { x } else { value.copysign(x) }
}
