//! hypot.

use super::base::*;

/// sqrt(x^2 + y^2), within 1 ulp; infinite if an argument is.
#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let (a, b) = if ax < ay { (ay, ax) } else { (ax, ay) };
    // keep the squares and their errors normal and finite
    let large = a > const { hex("0x1p62") };
    let small = a < const { hex("0x1p-40") };
    let scale = if small { const { hex("0x1p100") } } else { 1.0 };
    let scale = if large { const { hex("0x1p-80") } } else { scale };
    let back = if small { const { hex("0x1p-100") } } else { 1.0 };
    let back = if large { const { hex("0x1p80") } } else { back };
    let (a, b) = (a * scale, b * scale);
    let (h, l) = (a * a, b * b);
    let (h_low, l_low) = (a.mul_add(a, -h), b.mul_add(b, -l));
    let s = h + l;
    let s_low = ((h - s) + l) + (h_low + l_low);
    let w = rsqrt_rough(s);
    let root = s * w;
    let rest = ((-root).mul_add(root, s) + s_low) * (0.5 * w);
    let value = (root + rest) * back;
    if ax == f32::INFINITY || ay == f32::INFINITY { f32::INFINITY } else { value }
}
