//! hypot.

use super::base::{fast_two_sum, two_prod};

/// 2^500 and 2^-400, beyond which the arguments are scaled, by 2^-600 and 2^600.
const LARGE: f64 = f64::from_bits(0x5f30_0000_0000_0000);
const SMALL: f64 = f64::from_bits(0x26f0_0000_0000_0000);
const UP: f64 = f64::from_bits(0x6570_0000_0000_0000);
const DOWN: f64 = f64::from_bits(0x1a70_0000_0000_0000);

/// sqrt(x^2 + y^2); infinite if an argument is.
#[inline(always)]
pub fn hypot(x: f64, y: f64) -> f64 {
    let (ax, ay) = (x.abs(), y.abs());
    let (a, b) = if ax < ay { (ay, ax) } else { (ax, ay) };
    let (large, small) = (a > LARGE, a < SMALL);
    let scale = if small { UP } else { 1.0 };
    let scale = if large { DOWN } else { scale };
    let back = if small { DOWN } else { 1.0 };
    let back = if large { UP } else { back };
    let (a, b) = (a * scale, b * scale);
    let (h, l) = (two_prod(a, a), two_prod(b, b));
    let s = fast_two_sum(h.hi, l.hi);
    let root = s.hi.sqrt();
    let rest = (-root).mul_add(root, s.hi) + (s.lo + (h.lo + l.lo));
    let value = if root == 0.0 { root } else { rest.mul_add(0.5 / root, root) };
    if ax == f64::INFINITY || ay == f64::INFINITY { f64::INFINITY } else { value * back }
}
