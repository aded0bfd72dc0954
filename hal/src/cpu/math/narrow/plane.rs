//! atan2 and hypot.

use super::Narrow;
use super::common::{HALF_PI, at_least, at_most, f, horner, reciprocal};
use super::root::root;

const TWO_64: f32 = 18_446_744_073_709_551_616.0;

/// The angle of the point (x, y), with the special cases of C's Annex F.
#[inline(always)]
pub fn atan2<T: Narrow>(y: f32, x: f32) -> f32 {
    let steep = y.abs() > x.abs();
    let (long, short) = if steep { (y.abs(), x.abs()) } else { (x.abs(), y.abs()) };
    // Large values stand in for infinity, and a small one for 0 as the longer side.
    let (long, short) = if T::WIDE {
        let scale = match long {
            _ if long < 1.0 / TWO_64 => TWO_64,
            _ if long > TWO_64 => 1.0 / TWO_64,
            _ => 1.0,
        };
        // 2⁻¹⁴⁹, so that the quotient of a finite side and the limit ends as 0.
        let scale_short = if long == f32::INFINITY { f(1) } else { scale };
        let (top, least) = (f(0x7b80_0000), f(0x0d80_0000));
        (at_least(at_most(long * scale, top), least), at_most(short * scale_short, top))
    } else {
        let (top, least) = (f(0x5d80_0000), f(0x2180_0000));
        (at_least(at_most(long, top), least), at_most(short, top))
    };
    let t = short * reciprocal(long);
    let slope = horner(
        t * t,
        [
            f(0x3c00_d534),
            -f(0x3d17_9ad2),
            f(0x3dab_c49a),
            -f(0x3e0a_1bda),
            f(0x3e4b_961c),
            -f(0x3eaa_a1bb),
            f(0x3f7f_fff5),
        ],
    );
    let angle = if steep { slope.mul_add(-t, HALF_PI) } else { slope.mul_add(t, 0.0) };
    (if x.is_sign_negative() { 2.0 * HALF_PI - angle } else { angle }).copysign(y)
}

/// √(x² + y²); infinite if an argument is.
#[inline(always)]
pub fn hypot<T: Narrow>(x: f32, y: f32) -> f32 {
    if x.is_infinite() || y.is_infinite() {
        return f32::INFINITY;
    }
    let (large, small) = (f(0x5d80_0000), f(0x2b80_0000));
    let (scale, back) = match T::WIDE {
        true if x.abs() > large || y.abs() > large => (f(0x1780_0000), f(0x6780_0000)),
        true if x.abs() < small && y.abs() < small => (f(0x7180_0000), f(0x0d80_0000)),
        _ => (1.0, 1.0),
    };
    let (x, y) = (x * scale, y * scale);
    root(x.mul_add(x, y * y)) * back
}
