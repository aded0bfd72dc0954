//! pow.

use super::Narrow;
use super::common::{MAGIC_BIASED, at_least, at_most, f, horner, power_of_two, sign_of, xor_sign};
use super::log::split;

/// x to the power y, with the special cases of C's Annex F. Its polynomials are shorter than those
/// of log2 and exp2.
#[inline(always)]
pub fn pow<T: Narrow>(x: f32, y: f32) -> f32 {
    let magnitude = x.abs();
    let (k, fraction) = split::<T>(magnitude);
    let log = fraction.mul_add(
        horner(
            fraction,
            [
                f(0x3e2f_b7b1),
                -f(0x3e89_e34e),
                f(0x3e97_6688),
                -f(0x3eb7_ffb3),
                f(0x3ef6_14ad),
                -f(0x3f38_ab48),
                f(0x3fb8_aa47),
            ],
        ),
        k,
    );
    // -∞ at 0; infinity and NaN stay.
    let positive = magnitude.to_bits().wrapping_sub(1) < 0x7f7f_ffff;
    let log = if positive { log } else { (magnitude - 1.0) * f32::INFINITY };
    let t = if magnitude == 1.0 || y == 0.0 { 0.0 } else { y * log };
    let (half, limit) = if T::WIDE { (0.5, 140.0) } else { (1.0, 30.0) };
    let t = at_least(at_most(t, limit), -limit);
    let biased = t.mul_add(half, MAGIC_BIASED);
    let r = t.mul_add(half, -(biased - MAGIC_BIASED));
    let value = horner(r, [f(0x3c1d_01e4), f(0x3d64_fe3a), f(0x3e76_01ba), f(0x3f31_7096), 1.0]) * power_of_two(biased);
    let value = if T::WIDE { value * value } else { value };
    let integer = y.round_ties_even() == y;
    let odd = integer && (0.5 * y).round_ties_even() != 0.5 * y;
    let value = xor_sign(value, if odd { sign_of(x) } else { 0 });
    if x < 0.0 && magnitude < f32::INFINITY && !integer { f32::NAN } else { value }
}
