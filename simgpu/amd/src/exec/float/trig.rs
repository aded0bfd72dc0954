//! Segments of 2/pi for the range reduction of large angles.

use super::exponent::scale_f64;
use crate::exec::lane::lanes;

/// The first 1201 bits of the fraction 2/pi, most significant bit first; the rest is zero.
const TWO_OVER_PI: [u64; 19] = [
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
    0x5603_3046_fc7b_0000,
];

/// Returns the 53 bits of 2/pi after the first `53 segment` bits. For angles too large for those
/// bits, the segment starts correspondingly later. For angles from 2^945 the result is multiplied
/// by 2^128, so that the product is not subnormal.
#[inline(always)]
fn part(angle: f64, segment: u32) -> f64 {
    let exponent = (angle.to_bits() >> 52 & 0x7ff) as i32;
    let skipped = (segment & 31) * 53 + (exponent - 1077).max(0) as u32;
    let (word, bit) = ((skipped / 64) as usize, skipped % 64);
    let at = |word: usize| TWO_OVER_PI.get(word).copied().unwrap_or(0);
    let bits = (u128::from(at(word)) << 64 | u128::from(at(word + 1))) << bit;
    let scale = if exponent >= 1968 { 128 } else { 0 };
    scale_f64((bits >> 75) as f64, scale - 53 - skipped as i32)
}

lanes! {
    /// The range reduction of large angles.
    TABLE:
    "v_trig_preop_f64" => |angle: f64, segment: u32| -> f64 { part(angle, segment) };
}
