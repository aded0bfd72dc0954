//! softplus and mish.

use super::Narrow;
use super::common::{at_least, at_most, f, horner, moved, reciprocal};
use super::exp::{exp_half, split};

/// ln(1 + eˣ).
#[inline(always)]
pub fn softplus<T: Narrow>(x: f32) -> f32 {
    let z = if T::WIDE {
        let root = exp_half(at_least(-x.abs(), -100.0));
        root * root
    } else {
        let (r, scale) = split(at_least(-x.abs(), -20.0));
        scale
            * horner(
                r,
                [f(0x3c07_cb59), f(0x3d2b_a69f), f(0x3e2a_addf), f(0x3eff_fe90), f(0x3f7f_ffeb), f(0x3f7f_fffd)],
            )
    };
    // ln(1 + z) / z
    let slope = horner(
        z,
        [
            f(0x3bab_752b),
            -f(0x3cf1_b291),
            f(0x3da0_345f),
            -f(0x3e0b_e958),
            f(0x3e43_a53c),
            -f(0x3e7e_644b),
            f(0x3eaa_97ee),
            -f(0x3eff_ff54),
            f(0x3f80_0002),
        ],
    );
    z.mul_add(slope, at_least(x, 0.0))
}

/// x tanh(ln(1 + eˣ)); -0 at -∞, its limit from below.
#[inline(always)]
pub fn mish<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x39f7_e000), -f(0x39f7_dff8));
    let x = at_least(x, if T::WIDE { -110.0 } else { -30.0 });
    let within = at_most(x, 20.0);
    let power = if T::WIDE {
        let root = exp_half(within);
        root * root
    } else {
        let (r, scale) = split(within);
        scale
            * horner(
                r,
                [f(0x3c07_ce3f), f(0x3d2b_a64e), f(0x3e2a_ad83), f(0x3eff_feea), f(0x3f7f_fff8), f(0x3f7f_ffff)],
            )
    };
    let sum = power + 2.0;
    x * reciprocal(power.mul_add(sum, 2.0)) * (power * sum)
}
