//! pow, rsqrt and recip.

use super::exp::exp2;
use super::log::log2;
use super::{Bf16, Narrow};

/// 1/x. Rounding f32's quotient again is rounding once.
#[inline(always)]
pub fn recip<T: Narrow>(x: f32) -> f32 {
    1.0 / x
}

/// 1/√x.
#[inline(always)]
pub fn rsqrt<T: Narrow>(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// x to the power y, with the edges of C's Annex F.
#[inline(always)]
pub fn pow<T: Narrow>(x: f32, y: f32) -> f32 {
    let magnitude = x.abs();
    let exponent = if magnitude == 1.0 { 0.0 } else { y * log2::<Bf16>(magnitude) };
    let value = exp2::<Bf16>(exponent);
    let integer = y.round_ties_even() == y;
    let odd = integer && (0.5 * y).round_ties_even() != 0.5 * y;
    let value = if odd { value.copysign(x) } else { value };
    let undefined = x < 0.0 && magnitude < f32::INFINITY && !integer;
    let value = if undefined { f32::NAN } else { value };
    if x == 1.0 || y == 0.0 { 1.0 } else { value }
}
