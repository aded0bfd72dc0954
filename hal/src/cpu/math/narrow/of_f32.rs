//! Functions of the narrow types that are f32 recipes: their f32 results are so close to the true
//! value that rounding them gives the correctly rounded result, for all inputs but a few of
//! f16, which are moved.

use super::Narrow;
use super::activations::times_share;
use super::common::{at_least, f, moved};
use crate::cpu::math::f32 as single;

/// min(max(x/6 + ½, 0), 1).
#[inline(always)]
pub fn hard_sigmoid<T: Narrow>(x: f32) -> f32 {
    single::hard_sigmoid(x)
}

/// x min(max(x/6 + ½, 0), 1); -0 up to -3, also at -∞.
#[inline(always)]
pub fn hard_swish<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, f(0x3e80_2000), f(0x3e80_2008));
    let x = moved::<T>(x, f(0x3f7f_e000), f(0x3f7f_e008));
    times_share::<T>(at_least(x, -3.0), single::hard_sigmoid(x), x)
}

/// SELU.
#[inline(always)]
pub fn selu<T: Narrow>(x: f32) -> f32 {
    single::selu(x)
}
