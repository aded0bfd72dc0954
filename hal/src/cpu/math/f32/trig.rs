//! sin, cos and tan.

use super::base::*;

/// The reduction |x| = k pi/2 + high + low with |high| <= 0.786; k is modulo 4.
#[derive(Clone, Copy)]
struct Angle {
    high: f32,
    low: f32,
    k: u32,
}

/// Cody and Waite's reduction for a below 2^17.
#[inline(always)]
fn reduce_small(a: f32) -> Angle {
    let t = a.mul_add(const { hex("0x1.45f306p-1") }, ROUNDER);
    let n = t - ROUNDER;
    let r = n.mul_add(-PIO2_HI, a);
    let p = n * PIO2_LO;
    let high = r - p;
    let low = n.mul_add(const { hex("0x1.ee59dap-50") }, -n.mul_add(PIO2_LO, -p));
    Angle { high, low: ((r - high) - p) + low, k: t.to_bits() }
}

/// The bits of 2/pi from weight 2^7 down.
const TWO_OVER_PI: [u32; 7] =
    [0x00a2_f983, 0x6e4e_4415, 0x29fc_2757, 0xd1f5_34dd, 0xc0db_6295, 0x993c_4390, 0x41fe_5163];

/// Payne and Hanek's reduction for a >= 2^17.
#[cold]
#[inline(never)]
fn reduce_large(a: f32) -> Angle {
    let bits = a.to_bits();
    // infinities and NaN also read the last words; their result becomes NaN below
    let at = (bits >> 23).saturating_sub(144);
    let m = u64::from((bits & 0x007f_ffff) | 0x0080_0000);
    let (word, shift) = ((at >> 5) as usize, at & 31);
    let window = |i: usize| {
        let pair = (u64::from(TWO_OVER_PI[word + i]) << 32) | u64::from(TWO_OVER_PI[word + i + 1]);
        (pair << shift) >> 32
    };
    // quarter turns modulo 4, in units of 2^-62
    let turn = (m.wrapping_mul(window(0)) << 32).wrapping_add(m * window(1) + ((m * window(2)) >> 32));
    let fraction = (turn << 2) as i64 >> 2;
    let unit = const { hex("0x1p-62") };
    let high = fraction as f32;
    let low = (fraction - high as i64) as f32 * unit;
    let high = high * unit;
    let r = high * PIO2_HI;
    let r_low = low.mul_add(PIO2_HI, high.mul_add(PIO2_LO, high.mul_add(PIO2_HI, -r)));
    let sum = r + r_low;
    Angle {
        high: if a < f32::INFINITY { sum } else { f32::NAN },
        low: (r - sum) + r_low,
        k: ((turn >> 62) as u32).wrapping_add((turn >> 61) as u32 & 1),
    }
}

#[inline(always)]
fn reduce(a: f32) -> Angle {
    if a < const { hex("0x1p17") } { reduce_small(a) } else { reduce_large(a) }
}

/// sin(high + low) - high.
#[inline(always)]
fn sin_tail(p: Angle, z: f32) -> f32 {
    const Q: [f32; 3] = coefficients(["-0x1.992462p-13", "0x1.1106d6p-7", "-0x1.555544p-3"]);
    (p.high * z).mul_add(poly(z, &Q), p.low)
}

/// cos(high + low) - 1.
#[inline(always)]
fn cosm1(p: Angle, z: f32) -> f32 {
    const Q: [f32; 3] = coefficients(["0x1.99e334p-16", "-0x1.6c0c1ep-10", "0x1.55554ap-5"]);
    let error = p.high.mul_add(p.high, -z);
    let low = (-0.5f32).mul_add(error, -(p.high * p.low));
    (-0.5f32).mul_add(z, (z * z).mul_add(poly(z, &Q), low))
}

/// Flips the sign of y if the top bit of `sign` is set.
#[inline(always)]
fn flip(y: f32, sign: u32) -> f32 {
    f32::from_bits(y.to_bits() ^ (sign & 0x8000_0000))
}

/// Returns (sin, cos, k) of |x| minus k quarter turns.
#[inline(always)]
fn sin_cos(x: f32) -> (f32, f32, u32) {
    let p = reduce(x.abs());
    let z = p.high * p.high;
    (p.high + sin_tail(p, z), 1.0 + cosm1(p, z), p.k)
}

/// The sine, within 1 ulp for arguments of any size.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (s, c, k) = sin_cos(x);
    flip(if k & 1 != 0 { c } else { s }, (k << 30) ^ x.to_bits())
}

/// The cosine, within 1 ulp for arguments of any size.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (s, c, k) = sin_cos(x);
    flip(if k & 1 != 0 { s } else { c }, k.wrapping_add(1) << 30)
}

/// The tangent, within 2 ulp for arguments of any size.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    const Q: [f32; 7] = coefficients([
        "0x1.03bfbep-8",
        "0x1.fd4d4p-11",
        "0x1.4b1c5ep-7",
        "0x1.61859ep-6",
        "0x1.ba5f7ep-5",
        "0x1.11105cp-3",
        "0x1.555556p-2",
    ]);
    let p = reduce(x.abs());
    let z = p.high * p.high;
    let tail = (p.high * z).mul_add(poly(z, &Q), p.low * 1.5f32.mul_add(z, 1.0));
    let t = p.high + tail;
    let t_low = tail - (t - p.high);
    let w = recip_rough(t);
    let w = w.mul_add((-t_low).mul_add(w, (-t).mul_add(w, 1.0)), w);
    flip(if p.k & 1 != 0 { w } else { t }, (p.k << 31) ^ x.to_bits())
}
