//! pow.

use super::base::*;

/// log2(x) as (high, low) for positive finite x, |low| up to 2^-9 |high|; relative error below 2^-31.
#[inline(always)]
fn log2_pair(x: f32) -> (f32, f32) {
    const Q: [f32; 3] = coefficients(["0x1.a99426p-2", "0x1.27757ep-1", "0x1.ec709ep-1"]);
    const W: [f32; 3] = coefficients(["0x1.d27708p-4", "-0x1.73b6dap-1", "0x1.7fc4a8p0"]);
    const K: f32 = hex("0x1.715476p1");
    let small = x < f32::MIN_POSITIVE;
    let bits = (if small { x * const { hex("0x1p23") } } else { x }).to_bits();
    let e = (bits.wrapping_sub(0x3f35_04f3) as i32 >> 23) as u32;
    let m = f32::from_bits(bits.wrapping_sub(e << 23));
    let base = f32::from_bits(e.wrapping_add(0x4b40_0000)) - if small { ROUNDER + 23.0 } else { ROUNDER };
    let below = m < const { hex("0x1.c73cbep-1") };
    let above = m > const { hex("0x1.203034p0") };
    let c = if above { const { hex("0x1.446c7ep0") } } else { 1.0 };
    let c = if below { const { hex("0x1.94c47cp-1") } } else { c };
    let log2_c = if above { const { hex("0x1.5dfp-2") } } else { 0.0 };
    let log2_c = if below { const { hex("-0x1.5b3p-2") } } else { log2_c };
    let base = base + log2_c;
    let f = m - c;
    let d = m + c;
    let d_low = m - (d - c);
    let w = poly(d, &W);
    let w = recip_step(w, (-d).mul_add(w, 1.0));
    let s = f * w;
    let s_low = (-s).mul_add(d_low, (-s).mul_add(d, f)) * w;
    let r = s + s_low;
    let z = r * r;
    let high = s * K;
    let low = s.mul_add(K, -high);
    let low = s.mul_add(const { hex("0x1.4ae0cp-25") }, low);
    let low = s_low.mul_add(K, low);
    let low = (r * z).mul_add(poly(z, &Q), low);
    let sum = base + high;
    (sum, ((base - sum) + high) + low)
}

/// The cases of IEEE 754-2019 9.2.1 where |x|^y is not the answer; r is |x|^y.
#[cold]
#[inline(never)]
fn edges(x: f32, y: f32, r: f32) -> f32 {
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    let a = x.abs();
    let integer = y.floor() == y;
    let odd = integer && (0.5 * y).floor() != 0.5 * y;
    if x < 0.0 && a.is_finite() && !integer {
        return f32::NAN;
    }
    let r = if a == 1.0 {
        1.0
    } else if a == 0.0 || a.is_infinite() || y.is_infinite() {
        if (a > 1.0) == (y > 0.0) { f32::INFINITY } else { 0.0 }
    } else {
        r
    };
    if odd { r.copysign(x) } else { r }
}

/// x to the power y, within 2 ulp, with the edge cases of IEEE 754-2019.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let (high, low) = log2_pair(x.abs());
    let z = at_most(at_least(y, const { hex("-0x1p40") }), const { hex("0x1p40") });
    let v = z * high;
    let v_low = z.mul_add(low, z.mul_add(high, -v));
    let over = v.abs() > 180.0;
    let v = at_most(at_least(v, -180.0), 180.0);
    let v_low = if over { 0.0 } else { v_low };
    let t = (v + v_low) + ROUNDER;
    let r = (v - (t - ROUNDER)) + v_low;
    let (first, second) = split_scale(t);
    let p = exp2m1_poly(r).mul_add(first, first) * second;
    if x > 0.0 && x < f32::INFINITY && y.abs() < f32::INFINITY { p } else { edges(x, y, p) }
}
