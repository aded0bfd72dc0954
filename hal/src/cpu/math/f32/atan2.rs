//! atan2.

use super::base::*;

/// The angle of the point (x, y), within 1 ulp, with the special cases of C's Annex F.
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    const Q: [f32; 6] = coefficients([
        "0x1.9d6be6p-5",
        "-0x1.613e3ap-4",
        "0x1.c57adep-4",
        "-0x1.248a12p-3",
        "0x1.99997ap-3",
        "-0x1.555556p-2",
    ]);
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ay > ax;
    let (long, short) = if steep { (ay, ax) } else { (ax, ay) };
    // two infinities are two equal sides; a finite one is nothing beside an infinite one
    let endless = long == f32::INFINITY;
    let beside = if short == f32::INFINITY { 1.0 } else { 0.0 };
    let b = if endless { beside } else { short };
    let a = if endless || long == 0.0 { 1.0 } else { long };
    // keep sums finite and remainders normal
    let scale = if a < const { hex("0x1p60") } { const { hex("0x1p64") } } else { const { hex("0x1p-32") } };
    let (a, b) = (a * scale, b * scale);

    // atan(b / a) is atan(t), or pi/4 + atan(t)
    let middle = b > a * const { hex("0x1.a8279ap-2") };
    let (less, more) = (b - a, b + a);
    let n = if middle { less } else { b };
    let d = if middle { more } else { a };
    let n_low = if middle { b - (less + a) } else { 0.0 };
    let d_low = if middle { b - (more - a) } else { 0.0 };
    let w = recip_rough(d);
    let t = n * w;
    let t = (-t).mul_add(d, n).mul_add(w, t);
    let t_low = ((-t).mul_add(d_low, (-t).mul_add(d, n)) + n_low) * w;
    let z = t * t;
    let tail = (t * z).mul_add(poly(z, &Q), (-z).mul_add(t_low, t_low));

    // the angle is base pi/2 + sign atan(t)
    let left = x.is_sign_negative();
    let sign = if steep != left { -1.0 } else { 1.0 };
    let axis = if steep { 1.0 } else { 0.0 };
    let axis = if left && !steep { 2.0 } else { axis };
    let base = axis + if middle { 0.5 * sign } else { 0.0 };
    let c = base * PIO2_HI;
    let c_low = base.mul_add(PIO2_LO, base.mul_add(PIO2_HI, -c));
    let v = sign * t;
    let u = c + v;
    let angle = u + (((c - u) + v) + sign.mul_add(tail, c_low));
    (if x.is_nan() || y.is_nan() { f32::NAN } else { angle }).copysign(y)
}
