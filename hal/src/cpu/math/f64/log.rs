//! log, log2 and log1p, over x = 2^k (1 + f) with 1 + f from about sqrt(1/2) to sqrt(2).

use super::base::{LOG2E, MAGIC, Pair, TWO_M54, bits, fast_two_sum, horner, magic_int, pow2, two_prod, two_sum};

/// ln 2 with eleven zero bits at its end, so that its product with any exponent is exact.
const LN2_SHORT: f64 = f64::from_bits(0x3fe6_2e42_fefa_3800);
const LN2_REST: f64 = f64::from_bits(0x3d2e_f357_93c7_6730);
const LOG2E_LO: f64 = f64::from_bits(0x3c77_77d0_ffda_0d24);
const LOG: [f64; 7] = bits([
    0x3fe5_5555_5555_5558,
    0x3fd9_9999_9999_52d7,
    0x3fd2_4924_92df_79df,
    0x3fcc_71c6_2dbb_d736,
    0x3fc7_462b_78a4_d11f,
    0x3fc3_9fe0_25e7_8d95,
    0x3fc2_b5ca_e038_6875,
]);
/// The bits of the smallest significand, and the offset that moves it to the start of a binade.
const FIRST: u64 = 0x3fe6_a09e_0000_0000;
const TO_BINADE: u64 = 0x0009_5f62_0000_0000;
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;

/// A positive number as 2^k m.
#[derive(Clone, Copy)]
pub(super) struct Split {
    pub k: f64,
    pub m: f64,
}

#[inline(always)]
fn split_normal(x: f64, bias: f64) -> Split {
    const TWO52: f64 = 4_503_599_627_370_496.0;
    let b = x.to_bits().wrapping_add(TO_BINADE);
    Split { k: f64::from_bits(TWO52.to_bits() | (b >> 52)) - (TWO52 + bias), m: f64::from_bits((b & FRACTION) + FIRST) }
}

#[inline(always)]
pub(super) fn split(x: f64) -> Split {
    let small = x < f64::MIN_POSITIVE;
    let scaled = if small { x * f64::from_bits(0x4350_0000_0000_0000) } else { x };
    split_normal(scaled, if small { 1077.0 } else { 1023.0 })
}

/// log(1 + f) - f
#[inline(always)]
fn tail(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(z, &LOG);
    let h = 0.5 * (f * f);
    s.mul_add(h + r, -h)
}

/// Returns `value` if `x` is positive and finite, otherwise the limit (an infinity) or NaN.
#[inline(always)]
fn edges(x: f64, value: f64) -> f64 {
    let beyond = if x > 0.0 { x } else { f64::NAN };
    let beyond = if x == 0.0 { f64::NEG_INFINITY } else { beyond };
    if x > 0.0 && x < f64::INFINITY { value } else { beyond }
}

/// Natural logarithm.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let Split { k, m } = split(x);
    let f = m - 1.0;
    let sum = fast_two_sum(k * LN2_SHORT, f);
    edges(x, sum.hi + (sum.lo + k.mul_add(LN2_REST, tail(f))))
}

/// Logarithm to base 2; exact at powers of two.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let Split { k, m } = split(x);
    let f = m - 1.0;
    let p = two_prod(f, LOG2E);
    let c = tail(f).mul_add(LOG2E, f.mul_add(LOG2E_LO, p.lo));
    let sum = fast_two_sum(k, p.hi);
    edges(x, sum.hi + (sum.lo + c))
}

/// k ln 2 + log(1 + f + lost), where `lost` is far below f, as an unnormalised pair.
#[inline(always)]
pub(super) fn log_pair(k: f64, f: f64, lost: f64) -> Pair {
    let sum = fast_two_sum(k * LN2_SHORT, f);
    let c = k.mul_add(LN2_REST, tail(f)) + (-f).mul_add(lost, lost);
    Pair { hi: sum.hi, lo: sum.lo + c }
}

/// log(1 + x + x_lo) as such a pair, with an `x_lo` far below x.
#[inline(always)]
pub(super) fn log1p_pair(x: f64, x_lo: f64) -> Pair {
    let u = two_sum(1.0, x);
    let Split { k, m } = split_normal(u.hi, 1023.0);
    let down = if k > 1000.0 { 0.0 } else { pow2(magic_int(k + MAGIC).wrapping_neg()) };
    let near = k == 0.0;
    log_pair(k, if near { x } else { m - 1.0 }, if near { x_lo } else { (u.lo + x_lo) * down })
}

/// log(1 + x), accurate near zero.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    // adding -0 changes nothing
    let log = log1p_pair(x, -0.0);
    let value = edges(1.0 + x, log.hi + log.lo);
    if x.abs() < TWO_M54 { x } else { value }
}
