//! asin, acos and atan.

use super::base::{PI_HI, PI_LO, bits, fast_two_sum, horner};

const ASIN: [f64; 13] = bits([
    0x3fc5_5555_5555_5556,
    0x3fb3_3333_3333_2da2,
    0x3fa6_db6d_b6e4_8603,
    0x3f9f_1c71_c11d_eea0,
    0x3f96_e8bb_3752_1aca,
    0x3f91_c4d1_12ce_d722,
    0x3f8c_9d30_ac3c_e59b,
    0x3f87_8010_2201_35ea,
    0x3f85_32a9_148f_185f,
    0x3f75_e291_5e07_4c7d,
    0x3f92_2054_1f36_f9a0,
    0xbf8f_58c5_7c0b_b66b,
    0x3f9d_c181_d63e_5323,
]);
const ATAN: [f64; 11] = bits([
    0xbfd5_5555_5555_5555,
    0x3fc9_9999_9999_9452,
    0xbfc2_4924_9243_faa8,
    0x3fbc_71c7_18a1_a80e,
    0xbfb7_45d0_bd21_e6ea,
    0x3fb3_b127_09f9_0fd6,
    0xbfb1_0fb2_4631_823b,
    0x3fad_ff0f_ee7a_7de5,
    0xbfaa_0cd5_19ec_a1e7,
    0x3fa4_1eda_3f84_89f5,
    0xbf93_b6fe_a68a_0fac,
]);
/// sqrt(2) - 1 and sqrt(2) + 1, at which atan changes its reduction.
pub(super) const MIDDLE: f64 = f64::from_bits(0x3fda_8279_99fc_ef32);
const LARGE: f64 = f64::from_bits(0x4003_504f_333f_9de6);
const TWO60: f64 = f64::from_bits(0x43b0_0000_0000_0000);

/// Arc sine; NaN outside [-1, 1].
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let ax = x.abs();
    let small = ax <= 0.5;
    let z = if small { ax * ax } else { 0.5 * (1.0 - ax) };
    let v = if small { -ax } else { 2.0 * z.sqrt() };
    let base = if small { 0.0 } else { 0.5 };
    let u = v * z * horner(z, &ASIN);
    let sum = fast_two_sum(base * PI_HI, -v);
    (sum.hi + (sum.lo + (base * PI_LO - u))).copysign(x)
}

/// Arc cosine; NaN outside [-1, 1].
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let ax = x.abs();
    let small = ax <= 0.5;
    let positive = x > 0.0;
    let z = if small { ax * ax } else { 0.5 * (1.0 - ax) };
    let root = 2.0 * z.sqrt();
    let signed = if positive { -root } else { root };
    let v = if small { x } else { signed };
    let outer = if positive { 0.0 } else { 1.0 };
    let base = if small { 0.5 } else { outer };
    let u = v * z * horner(z, &ASIN);
    let sum = fast_two_sum(base * PI_HI, -v);
    sum.hi + (sum.lo + (base * PI_LO - u))
}

/// atan(t) / t - 1, for |t| up to sqrt(2) - 1.
#[inline(always)]
pub(super) fn atan_tail(t: f64) -> f64 {
    let z = t * t;
    z * horner(z, &ATAN)
}

/// Arc tangent.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    let ax = x.abs();
    let ax = if ax > TWO60 { TWO60 } else { ax };
    let large = ax > LARGE;
    let middle = ax > MIDDLE && !large;
    let (less, more) = (ax - 1.0, ax + 1.0);
    let n = if middle { less } else { ax };
    let n = if large { -1.0 } else { n };
    let d = if middle { more } else { 1.0 };
    let d = if large { ax } else { d };
    let base = if middle { 0.25 } else { 0.0 };
    let base = if large { 0.5 } else { base };
    let n_lo = if middle { ax - (less + 1.0) } else { 0.0 };
    let d_lo = if middle { ax - (more - 1.0) } else { 0.0 };
    let w = 1.0 / d;
    let t = n * w;
    let t_lo = (-t).mul_add(d_lo, (-t).mul_add(d, n) + n_lo) * w;
    let p = atan_tail(t);
    let sum = fast_two_sum(base * PI_HI, t);
    (sum.hi + (sum.lo + (base * PI_LO + t.mul_add(p, t_lo)))).copysign(x)
}
