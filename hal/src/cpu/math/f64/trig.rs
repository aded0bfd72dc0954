//! sin, cos and tan.

use super::base::{Pair, bits, fast_two_sum, horner};
use super::trig_reduce::reduce;

const SIN: [f64; 6] = bits([
    0xbfc5_5555_5555_5555,
    0x3f81_1111_1111_0c83,
    0xbf2a_01a0_19ea_130a,
    0x3ec7_1de3_7b1c_a273,
    0xbe5a_e602_1023_3a95,
    0x3de5_e118_e848_4eee,
]);
const COS: [f64; 6] = bits([
    0x3fa5_5555_5555_5555,
    0xbf56_c16c_16c1_68cc,
    0x3efa_01a0_19f3_8afa,
    0xbe92_7e4f_a036_d38f,
    0x3e21_eeb5_8509_df39,
    0xbda9_073d_4444_93ac,
]);
/// Below this magnitude sin(x) and tan(x) are x.
const TWO_M27: f64 = f64::from_bits(0x3e40_0000_0000_0000);

#[inline(always)]
fn sin_kernel(r: Pair) -> f64 {
    let z = r.hi * r.hi;
    let lo = (-0.5 * z).mul_add(r.lo, r.lo);
    r.hi + (z * r.hi).mul_add(horner(z, &SIN), lo)
}

#[inline(always)]
fn cos_kernel(r: Pair) -> f64 {
    let z = r.hi * r.hi;
    let sum = fast_two_sum(1.0, -0.5 * z);
    sum.hi + (sum.lo + (z * z).mul_add(horner(z, &COS), -r.hi * r.lo))
}

/// Sine; NaN at the infinities.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    let value = if quadrant & 1 != 0 { cos_kernel(r) } else { sin_kernel(r) };
    let value = if quadrant & 2 != 0 { -value } else { value };
    if x.abs() < TWO_M27 { x } else { value }
}

/// Cosine; NaN at the infinities.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    let value = if quadrant & 1 != 0 { sin_kernel(r) } else { cos_kernel(r) };
    if quadrant.wrapping_add(1) & 2 != 0 { -value } else { value }
}

/// Tangent; NaN at the infinities.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    let (s, c) = (sin_kernel(r), cos_kernel(r));
    let value = if quadrant & 1 != 0 { -c / s } else { s / c };
    if x.abs() < TWO_M27 { x } else { value }
}
