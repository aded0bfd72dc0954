//! asin, acos and atan.

use super::Narrow;
use super::common::{HALF_PI, at_most, f, horner, moved, reciprocal, sign_of, xor_sign};
use super::root::root;

/// asin x.
#[inline(always)]
pub fn asin<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let low = magnitude < 0.5;
    let z = if low { x * x } else { magnitude.mul_add(-0.5, 0.5) };
    let s = if low { magnitude } else { -2.0 * root(z) };
    let value = horner(z, [f(0x3d2c_ac5f), f(0x3cc6_20ad), f(0x3d3a_3db4), f(0x3d99_810a), f(0x3e2a_aa2d), 1.0])
        .mul_add(s, if low { 0.0 } else { HALF_PI });
    if magnitude > 1.0 { f32::NAN } else { xor_sign(value, sign_of(x)) }
}

/// acos x.
#[inline(always)]
pub fn acos<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x3d95_e000), -f(0x3d95_d800));
    let magnitude = x.abs();
    let low = magnitude < 0.5;
    let z = if low { x * x } else { magnitude.mul_add(-0.5, 0.5) };
    let s = if low { -x } else { (2.0 * root(z)).copysign(x) };
    let high = if x < 0.0 { 2.0 * HALF_PI } else { 0.0 };
    let value =
        horner(z, [f(0x3d2c_aaf8), f(0x3cc6_234d), f(0x3d3a_4167), f(0x3d99_81a3), f(0x3e2a_aa96), f(0x3f80_0001)])
            .mul_add(s, if low { HALF_PI } else { high });
    if magnitude > 1.0 { f32::NAN } else { value }
}

/// atan x.
#[inline(always)]
pub fn atan<T: Narrow>(x: f32) -> f32 {
    let magnitude = x.abs();
    let magnitude = moved::<T>(moved::<T>(magnitude, f(0x40cd_c000), f(0x40cd_c800)), f(0x4115_c000), f(0x4115_bf80));
    let high = magnitude > 1.0;
    let y = if high { -reciprocal(at_most(magnitude, 1_099_511_627_776.0)) } else { magnitude };
    let value = horner(
        y * y,
        [
            f(0x3b3f_5d21),
            -f(0x3c86_1294),
            f(0x3d30_fd28),
            -f(0x3d9a_aa2d),
            f(0x3dda_715c),
            -f(0x3e11_8595),
            f(0x3e4c_bc0b),
            -f(0x3eaa_aa51),
            1.0,
        ],
    )
    .mul_add(y, if high { HALF_PI } else { 0.0 });
    xor_sign(value, sign_of(x))
}
