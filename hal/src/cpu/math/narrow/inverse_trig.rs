//! asin, acos and atan.

use super::Narrow;
use super::common::{HALF_PI, at_most, f, horner, reciprocal, sign_of, xor_sign};

/// asin x.
#[inline(always)]
pub fn asin<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let low = magnitude < 0.5;
    let z = if low { x * x } else { magnitude.mul_add(-0.5, 0.5) };
    let value = horner(z, [f(0x3d2c_ac5f), f(0x3cc6_20ad), f(0x3d3a_3db4), f(0x3d99_810a), f(0x3e2a_aa2d), 1.0])
        * if low { magnitude } else { z.sqrt() };
    let value = if low { value } else { value.mul_add(-2.0, HALF_PI) };
    xor_sign(value, sign_of(x))
}

/// acos x.
#[inline(always)]
pub fn acos<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let low = magnitude < 0.5;
    let z = if low { x * x } else { magnitude.mul_add(-0.5, 0.5) };
    let value = horner(z, [f(0x3d2c_acd5), f(0x3cc6_20ad), f(0x3d3a_3db9), f(0x3d99_8103), f(0x3e2a_aae4), 1.0])
        * if low { x } else { z.sqrt() };
    let near_pi = value.mul_add(-2.0, f(0x4049_0fdb));
    let high = if x < 0.0 { near_pi } else { 2.0 * value };
    if low { f(0x3fc9_0fdb) - value } else { high }
}

/// atan x.
#[inline(always)]
pub fn atan<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let high = magnitude > 1.0;
    let y = if high { reciprocal(at_most(magnitude, 1_099_511_627_776.0)) } else { magnitude };
    let value = horner(
        y * y,
        [
            f(0x3b3f_60e2),
            -f(0x3c86_11ff),
            f(0x3d30_fbab),
            -f(0x3d9a_a9fa),
            f(0x3dda_6fee),
            -f(0x3e11_8558),
            f(0x3e4c_bc77),
            -f(0x3eaa_aa6e),
            1.0,
        ],
    ) * y;
    xor_sign(if high { HALF_PI - value } else { value }, sign_of(x))
}
