//! Reduction of an angle to its quadrant and a remainder within pi/4, as a pair.

use super::base::{MAGIC, Pair, fast_two_sum, magic_int, two_prod, two_sum};

/// pi/2 in three parts.
const PIO2: [f64; 3] = [
    f64::from_bits(0x3ff9_21fb_5444_2d18),
    f64::from_bits(0x3c91_a626_3314_5c07),
    f64::from_bits(0xb91f_1976_b7ed_8fbc),
];
const TWO_OVER_PI: f64 = f64::from_bits(0x3fe4_5f30_6dc9_c883);
/// From this magnitude on, angles are reduced with integer arithmetic.
const LARGE: f64 = 1_073_741_824.0;

/// The first 1216 bits of 2/pi, after 64 zeros.
const TWO_OVER_PI_BITS: [u64; 20] = [
    0x0000_0000_0000_0000,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Returns `hi` 2^-64 + `lo` 2^-128.
fn fraction(hi: u64, lo: u64) -> Pair {
    let piece = |word: u64, weight: f64| f64::from(word as u32) * weight;
    let a = fast_two_sum(
        piece(hi >> 32, f64::from_bits(0x3df0_0000_0000_0000)),
        piece(hi, f64::from_bits(0x3bf0_0000_0000_0000)),
    );
    let b = piece(lo >> 32, f64::from_bits(0x39f0_0000_0000_0000)) + piece(lo, f64::from_bits(0x37f0_0000_0000_0000));
    fast_two_sum(a.hi, a.lo + b)
}

/// Payne and Hanek's reduction, for |x| from 2^30 to the largest number: with x = m 2^e, multiplies
/// m by 192 bits of 2/pi, modulo 2^192, which represents 4 quadrants.
#[cold]
#[inline(never)]
fn reduce_large(x: f64) -> (u32, Pair) {
    let b = x.abs().to_bits();
    let m = u128::from((b & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000);
    let at = (b >> 52) as usize - 1013;
    let (word, shift) = (at / 64, at % 64);
    let chunk = |i: usize| {
        let wide = u128::from(TWO_OVER_PI_BITS[word + i]) << 64 | u128::from(TWO_OVER_PI_BITS[word + i + 1]);
        (wide << shift >> 64) as u64
    };
    // The product without its lowest word.
    let product = ((m * u128::from(chunk(0))) << 64)
        .wrapping_add(m * u128::from(chunk(1)))
        .wrapping_add((m * u128::from(chunk(2))) >> 64);
    // The product has two integer bits, then the fraction. A fraction of a half or more is counted
    // backwards from the next quadrant.
    let part = product << 2;
    let up = part >> 127 == 1;
    let quadrant = (product >> 126) as u32 + u32::from(up);
    let size = if up { part.wrapping_neg() } else { part };
    let f = fraction((size >> 64) as u64, size as u64);
    let p = two_prod(f.hi, PIO2[0]);
    let r = fast_two_sum(p.hi, f.lo.mul_add(PIO2[0], f.hi.mul_add(PIO2[1], p.lo)));
    let below = x < 0.0;
    let r = if up != below { Pair { hi: -r.hi, lo: -r.lo } } else { r };
    (if below { quadrant.wrapping_neg() } else { quadrant }, r)
}

/// Returns the quadrant (modulo 4) and the remainder; the remainder is NaN if x is not finite.
#[inline(always)]
pub(super) fn reduce(x: f64) -> (u32, Pair) {
    if x.abs() >= LARGE && x.is_finite() {
        return reduce_large(x);
    }
    let t = x.mul_add(TWO_OVER_PI, MAGIC);
    let k = t - MAGIC;
    let p = two_prod(k, PIO2[1]);
    let s = two_sum((-k).mul_add(PIO2[0], x), -p.hi);
    (magic_int(t), fast_two_sum(s.hi, (-k).mul_add(PIO2[2], s.lo - p.lo)))
}
