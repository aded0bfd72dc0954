//! asinh, acosh and atanh.

use super::base::*;
use super::log::{join_pair, log1p_pair, parts, split_one_plus};

/// From here up, asinh and acosh are log(2 x) to the last bit.
const BIG: f32 = hex("0x1p12");

/// Returns the square root of z + z_low as a pair, for normal z.
#[inline(always)]
fn root_pair(z: f32, z_low: f32) -> (f32, f32) {
    let y = rsqrt_rough(z);
    let root = z * y;
    let rest = ((-root).mul_add(root, z) + z_low) * (0.5 * y);
    let high = root + rest;
    (high, rest - (high - root))
}

/// The inverse hyperbolic sine, within 1 ulp.
#[inline(always)]
pub fn asinh(x: f32) -> f32 {
    const Q: [f32; 6] = coefficients([
        "0x1.458838p-7",
        "-0x1.504abep-6",
        "0x1.ee133ap-6",
        "-0x1.6d9be6p-5",
        "0x1.3332eap-4",
        "-0x1.555556p-3",
    ]);
    let a = x.abs();
    let square = a * a;
    let near = (a * square).mul_add(poly(square, &Q), a);

    // log(a + sqrt(1 + a^2)), where the sum is a pair
    let big = a > BIG;
    let z = if big { 1.0 } else { square };
    let z_low = if big { 0.0 } else { a.mul_add(a, -square) };
    let sum = two_sum(1.0, z);
    let root = root_pair(sum.0, sum.1 + z_low);
    let high = root.0 + a;
    let low = ((root.0 - high) + a) + root.1;
    let (e, m) = parts(if big { a } else { high });
    let f_low = low * scale_of(ROUNDER - e, 0);
    let (u, v) = join_pair(if big { e + 1.0 } else { e }, m - 1.0, if big { 0.0 } else { f_low });
    let far = if a < f32::INFINITY { u + v } else { a };
    (if a < 0.5 { near } else { far }).copysign(x)
}

/// The inverse hyperbolic cosine, within 1 ulp; NaN below 1.
#[inline(always)]
pub fn acosh(x: f32) -> f32 {
    // log(1 + (t + sqrt(t (t + 2)))) with t = x - 1, which is exact
    let big = x > BIG;
    let t = if big { 1.0 } else { x - 1.0 };
    let s = two_sum(2.0, t);
    let z = t * s.0;
    let z_low = t.mul_add(s.1, t.mul_add(s.0, -z));
    let root = root_pair(z, z_low);
    let high = root.0 + t;
    let low = ((root.0 - high) + t) + root.1;
    let near = split_one_plus(high);
    let near_low = low.mul_add(near.down, near.f_low);
    let (e_big, m) = parts(if big { x } else { 1.0 });
    let (u, v) = join_pair(
        if big { e_big + 1.0 } else { near.e },
        if big { m - 1.0 } else { near.f },
        if big { 0.0 } else { near_low },
    );
    let y = if x < f32::INFINITY { u + v } else { x };
    if x < 1.0 { f32::NAN } else { y }
}

/// The inverse hyperbolic tangent, within 1 ulp; NaN outside [-1, 1].
#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    // log(1 + 2 a / (1 - a)) / 2
    let a = x.abs();
    let d = 1.0 - a;
    let d_low = (1.0 - d) - a;
    let n = a + a;
    let w = recip_rough(d);
    let q = n * w;
    let q = (-q).mul_add(d, n).mul_add(w, q);
    let q_low = (-q).mul_add(d_low, (-q).mul_add(d, n)) * w;
    let (u, v) = log1p_pair(q, q_low);
    let beyond = if a == 1.0 { f32::INFINITY } else { f32::NAN };
    (if a < 1.0 { 0.5 * (u + v) } else { beyond }).copysign(x)
}
