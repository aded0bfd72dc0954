//! pow: a base 2 logarithm with about 66 bits, then the exponential of its product with the
//! exponent.

use super::base::{Exp, Pair, bits, fast_two_sum, horner, two_prod};
use super::log::{Split, split};

/// 2 / ln 2 and 2 / (3 ln 2).
const C0: Pair = Pair { hi: f64::from_bits(0x4007_1547_652b_82fe), lo: f64::from_bits(0x3c87_77d0_ffda_0d24) };
const C1: Pair = Pair { hi: f64::from_bits(0x3fee_c709_dc3a_03fd), lo: f64::from_bits(0x3c8d_27f0_5548_af0c) };
const POW: [f64; 8] = bits([
    0x3fe2_776c_50ef_9bfe,
    0x3fda_6176_2a7a_e442,
    0x3fd4_84b1_3d73_1392,
    0x3fd0_c9a8_5037_5a59,
    0x3fcc_68f0_293f_9fc8,
    0x3fc8_a069_1212_df49,
    0x3fc5_930b_045e_f666,
    0x3fc6_09cb_a944_8a8b,
]);

#[inline(always)]
fn log2_pair(x: f64) -> Pair {
    let Split { k, m } = split(x);
    let f = m - 1.0;
    // s = f / (2 + f)
    let d = fast_two_sum(1.0, m);
    let w = 1.0 / d.hi;
    let s = f * w;
    let s_lo = (-s).mul_add(d.lo, (-s).mul_add(d.hi, f)) * w;
    // z = s^2
    let square = two_prod(s, s);
    let z = square.hi;
    let z_lo = (2.0 * s).mul_add(s_lo, square.lo);
    // c0 + z (c1 + z p(z))
    let t = z * horner(z, &POW);
    let q = fast_two_sum(C1.hi, t);
    let q_lo = q.lo + C1.lo;
    let zq = two_prod(z, q.hi);
    let zq_lo = z_lo.mul_add(q.hi, z.mul_add(q_lo, zq.lo));
    let c = fast_two_sum(C0.hi, zq.hi);
    let c_lo = c.lo + (zq_lo + C0.lo);
    let l = two_prod(s, c.hi);
    let l_lo = s_lo.mul_add(c.hi, s.mul_add(c_lo, l.lo));
    let sum = fast_two_sum(k, l.hi);
    fast_two_sum(sum.hi, sum.lo + l_lo)
}

/// x to the power y, with the special cases of IEEE 754-2019 section 9.2 (pow): `pow(x, 0)` and
/// `pow(1, y)` are 1 even if the other argument is NaN, and a finite negative base with a
/// fractional exponent gives NaN.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let ax = x.abs();
    let l = log2_pair(ax);
    let p = two_prod(y, l.hi);
    let finite = Exp::base_2(p.hi, y.mul_add(l.lo, p.lo)).value();
    let finite = if p.hi < -1080.0 { 0.0 } else { finite };
    let finite = if p.hi > 1030.0 { f64::INFINITY } else { finite };

    let grows = (ax > 1.0) == (y > 0.0);
    let limit = if grows { f64::INFINITY } else { 0.0 };
    let limit = if ax == 1.0 { 1.0 } else { limit };
    let edge = ax == 0.0 || ax == f64::INFINITY || y.abs() == f64::INFINITY;
    let size = if edge { limit } else { finite };

    let whole = y.trunc() == y;
    let half = 0.5 * y;
    let odd = whole && half.trunc() != half;
    let value = if odd { size.copysign(x) } else { size };
    let value = if x < 0.0 && ax < f64::INFINITY && !whole { f64::NAN } else { value };
    let value = if x.is_nan() || y.is_nan() { f64::NAN } else { value };
    if x == 1.0 || y == 0.0 { 1.0 } else { value }
}
