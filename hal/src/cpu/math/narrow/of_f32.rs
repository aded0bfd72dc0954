//! Functions of the narrow types that are f32 recipes: their f32 results are so close to the true
//! value that rounding them gives the correctly rounded result (atan2, hypot and celu: one within 1
//! ulp), for all inputs but a few of f16, which are moved.

use super::Narrow;
use super::activations::times_share;
use super::common::{at_least, f, moved};
use crate::cpu::math::f32 as single;

/// The inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<T: Narrow>(x: f32) -> f32 {
    let a = moved::<T>(x.abs(), f(0x3e57_a000), f(0x3e57_a008));
    let a = moved::<T>(a, f(0x4163_e000), f(0x4163_dff8));
    single::asinh(a).copysign(x)
}

/// The inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh<T: Narrow>(x: f32) -> f32 {
    single::acosh(moved::<T>(x, f(0x3f9c_8000), f(0x3f9c_8008)))
}

/// The inverse hyperbolic tangent; NaN outside [-1, 1].
#[inline(always)]
pub fn atanh<T: Narrow>(x: f32) -> f32 {
    single::atanh(x)
}

/// ln(1 + eˣ).
#[inline(always)]
pub fn softplus<T: Narrow>(x: f32) -> f32 {
    single::softplus(moved::<T>(x, -f(0x3886_0000), -f(0x3886_8000)))
}

/// x tanh(ln(1 + eˣ)); -0 at -∞, its limit from below.
#[inline(always)]
pub fn mish<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, f(0x3ad0_a000), f(0x3ad0_a008));
    let x = moved::<T>(x, f(0x3fc9_2000), f(0x3fc9_2008));
    let x = moved::<T>(x, -f(0x39f7_e000), -f(0x39f7_dff8));
    let x = moved::<T>(x, -f(0x3a20_0000), -f(0x3a1f_fff8));
    let x = moved::<T>(x, -f(0x4114_a000), -f(0x4114_9ff8));
    single::mish(x)
}

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

/// x if x > 0, else alpha (e^(x / alpha) - 1).
#[inline(always)]
pub fn celu<T: Narrow>(x: f32, alpha: f32) -> f32 {
    single::celu(x, alpha)
}

/// The angle of the point (x, y), with the special cases of C's Annex F.
#[inline(always)]
pub fn atan2<T: Narrow>(y: f32, x: f32) -> f32 {
    single::atan2(y, x)
}

/// √(x² + y²); infinite if an argument is.
#[inline(always)]
pub fn hypot<T: Narrow>(x: f32, y: f32) -> f32 {
    single::hypot(x, y)
}
