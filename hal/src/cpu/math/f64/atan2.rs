//! atan2.

use super::base::{PI_HI, PI_LO, fast_two_sum, two_prod};
use super::inverse_trig::{MIDDLE, atan_tail};

/// 2^-900 and 2^1000, beyond which the arguments are scaled, by 2^200 and 2^-100.
const SMALL: f64 = f64::from_bits(0x07b0_0000_0000_0000);
const LARGE: f64 = f64::from_bits(0x7e70_0000_0000_0000);
const UP: f64 = f64::from_bits(0x4c70_0000_0000_0000);
const DOWN: f64 = f64::from_bits(0x39b0_0000_0000_0000);

/// The angle of the point (x, y), with the special cases of C's Annex F.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ay > ax;
    let (long, short) = if steep { (ay, ax) } else { (ax, ay) };
    // two infinities are two equal sides; a finite one is nothing beside an infinite one
    let endless = long == f64::INFINITY;
    let beside = if short == f64::INFINITY { 1.0 } else { 0.0 };
    let b = if endless { beside } else { short };
    let a = if endless || long == 0.0 { 1.0 } else { long };
    // keep sums finite and remainders normal
    let large = if a > LARGE { DOWN } else { 1.0 };
    let scale = if a < SMALL { UP } else { large };
    let (a, b) = (a * scale, b * scale);

    // atan(b / a) is atan(t), or pi/4 + atan(t)
    let middle = b > a * MIDDLE;
    let (less, more) = (b - a, b + a);
    let n = if middle { less } else { b };
    let d = if middle { more } else { a };
    let n_lo = if middle { b - (less + a) } else { 0.0 };
    let d_lo = if middle { b - (more - a) } else { 0.0 };
    let w = 1.0 / d;
    let t = n * w;
    let t_lo = (-t).mul_add(d_lo, (-t).mul_add(d, n) + n_lo) * w;
    let tail = t.mul_add(atan_tail(t), t_lo);

    // the angle is base pi + sign atan(t)
    let left = x.is_sign_negative();
    let sign = if steep != left { -1.0 } else { 1.0 };
    let axis = if steep { 0.5 } else { 0.0 };
    let axis = if left && !steep { 1.0 } else { axis };
    let base = axis + if middle { 0.25 * sign } else { 0.0 };
    let c = two_prod(base, PI_HI);
    let sum = fast_two_sum(c.hi, sign * t);
    let angle = sum.hi + (sum.lo + sign.mul_add(tail, base.mul_add(PI_LO, c.lo)));
    (if x.is_nan() || y.is_nan() { f64::NAN } else { angle }).copysign(y)
}
