//! pow.

use super::base::*;

/// Returns y log2(a) as (high, low), and the exponent of a, for normal a. `rounder - ROUNDER` is
/// subtracted from the exponent of a.
#[inline(always)]
fn times_log2(a: f32, y: f32, rounder: f32) -> (f32, f32, f32) {
    const W: [f32; 3] = coefficients(["0x1.d27708p-4", "-0x1.73b6dap-1", "0x1.7fc4a8p0"]);
    const Q: [f32; 3] = coefficients(["0x1.298938p-3", "0x1.99943cp-3", "0x1.555556p-2"]);
    const C: [f32; 3] = coefficients(["0x1.d9d78p-6", "0x1.e829p-3", "0x1p0"]);
    const LOG2_C: [f32; 2] = coefficients(["0x1.6p-10", "0x1.5c9p-2"]);
    const K: f32 = hex("0x1.715476p1");
    const K_LOW: f32 = hex("0x1.4ae0cp-25");
    let bits = a.to_bits();
    let k = ((bits.wrapping_sub(0x3f32_2d0e) as i32 >> 23) as u32).wrapping_add(0x4b40_0000);
    let m = f32::from_bits(bits.wrapping_sub(k << 23));
    // choose one of three centres c
    let j = m.mul_add(const { hex("0x1.f9999ap1") }, ROUNDER - 4.0) - ROUNDER;
    let c = poly(j, &C);
    let exponent = f32::from_bits(k) - rounder;
    let base = j.mul_add(poly(j, &LOG2_C), exponent);
    let f = m - c;
    let d = m + c;
    let d_low = m - (d - c);
    let w = poly(d, &W);
    let w = recip_step(w, (-d).mul_add(w, 1.0));
    let s = f * w;
    let s_low = (-s).mul_add(d_low, (-s).mul_add(d, f)) * w;
    let r = s + s_low;
    let z = r * r;
    let tail = (r * z).mul_add(poly(z, &Q), s_low);
    let scaled = y * K;
    let scaled_low = y.mul_add(K_LOW, y.mul_add(K, -scaled));
    let u = y * base;
    let u_low = y.mul_add(base, -u);
    let high = scaled.mul_add(s, u);
    let error = scaled.mul_add(s, u - high);
    (high, scaled.mul_add(tail, scaled_low.mul_add(s, u_low) + error), exponent)
}

/// Returns (t, r, q) with 2^(high + low) = 2^n (1 + r q) and n in the low bits of t.
#[inline(always)]
fn power_parts(high: f32, low: f32) -> (f32, f32, f32) {
    const Q: [f32; 6] = coefficients([
        "0x1.442512p-13",
        "0x1.5ef5dp-10",
        "0x1.3b2a48p-7",
        "0x1.c6af9cp-5",
        "0x1.ebfbep-3",
        "0x1.62e43p-1",
    ]);
    let t = (high + low) + ROUNDER;
    let r = (high - (t - ROUNDER)) + low;
    (t, r, poly(r, &Q))
}

/// Returns the factor of |x|^y for a negative base.
#[inline(always)]
fn power_sign(y: f32) -> f32 {
    let half = 0.5 * y;
    let sign = if half.floor() == half { 1.0 } else { -1.0 };
    if y.floor() == y { sign } else { f32::NAN }
}

/// The complete pow: any x, results near and beyond the ends of the range, and the special cases of
/// IEEE 754-2019 section 9.2.1.
#[cold]
#[inline(never)]
fn edges(x: f32, y: f32) -> f32 {
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    let a = x.abs();
    let sign = if x.is_sign_positive() { 1.0 } else { power_sign(y) };
    if a == 0.0 || a.is_infinite() {
        let r = if (a > 1.0) == (y > 0.0) { f32::INFINITY } else { 0.0 };
        return if sign == -1.0 { -r } else { r };
    }
    let r = if a == 1.0 {
        1.0
    } else if y.abs() >= const { hex("0x1p40") } {
        if (a > 1.0) == (y > 0.0) { f32::INFINITY } else { 0.0 }
    } else {
        let small = a < f32::MIN_POSITIVE;
        let (normal, rounder) = if small { (a * const { hex("0x1p23") }, ROUNDER + 23.0) } else { (a, ROUNDER) };
        let (high, low, _) = times_log2(normal, y, rounder);
        let low = if high.abs() > 180.0 { 0.0 } else { low };
        let (t, r, q) = power_parts(high.clamp(-180.0, 180.0), low);
        let (first, second) = split_scale(t);
        q.mul_add(r * first, first) * second
    };
    r * sign
}

/// x to the power y, within 2 ulp, with the edge cases of IEEE 754-2019.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let (high, low, exponent) = times_log2(x.abs(), y, ROUNDER);
    let (t, r, q) = power_parts(high, low);
    let s = scale_of(t, 0);
    let p = q.mul_add(r * s, s);
    let p = if x < 0.0 { p * power_sign(y) } else { p };
    if exponent.abs() < 126.0 && high.abs() < 120.0 { p } else { edges(x, y) }
}
