//! erf.

use super::Narrow;
use super::common::{at_most, f, horner};

/// erf x.
#[inline(always)]
pub fn erf<T: Narrow>(x: f32) -> f32 {
    // x²/3.5 - 1
    let a = at_most(x.abs(), 2.65);
    let s = (a * a).mul_add(f(0x3e92_4927), -1.0);
    (a * horner(
        s,
        [
            -f(0x386e_78e9),
            f(0x3963_faf8),
            -f(0x3a15_2ddf),
            f(0x3adb_f71f),
            -f(0x3b9b_5adc),
            f(0x3c41_b8ac),
            -f(0x3cd8_850c),
            f(0x3d59_385e),
            -f(0x3dc3_6050),
            f(0x3e1f_f818),
            -f(0x3e7d_ffb7),
            f(0x3f07_b8f0),
        ],
    ))
    .copysign(x)
}
