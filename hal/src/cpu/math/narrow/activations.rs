//! sigmoid, silu, gelu (the tanh form), gelu_erf and elu.

use super::Narrow;
use super::common::{MAGIC_BIASED, at_most, f, horner, moved, power_of_two, reciprocal};
use super::exp::{exp_half, expm1, split};

/// `value * share` with x's sign, nudged upwards: near 0 that breaks the ties of halved odd subnormals as the true value does.
#[inline(always)]
fn times_share<T: Narrow>(value: f32, share: f32, x: f32) -> f32 {
    let nudge = if T::WIDE { f(0x0000_0200) } else { f(0x2800_0000) };
    value.mul_add(share, nudge).copysign(x)
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid<T: Narrow>(x: f32) -> f32 {
    let z = if T::WIDE {
        let root = exp_half(-at_most(x.abs(), 110.0));
        root * root
    } else {
        let (r, scale) = split(-at_most(x.abs(), 30.0));
        scale
            * horner(
                r,
                [f(0x3c07_ce8a), f(0x3d2b_a6a4), f(0x3e2a_adb7), f(0x3eff_fe0d), f(0x3f7f_fff4), f(0x3f80_0002)],
            )
    };
    (if x < 0.0 { z } else { 1.0 }) * reciprocal(1.0 + z)
}

/// x / (1 + e⁻ˣ), and -0 at -∞, its limit from below.
#[inline(always)]
pub fn silu<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x3a00_0000), -f(0x3a00_0800));
    let a = at_most(x.abs(), if T::WIDE { 110.0 } else { 30.0 });
    if T::WIDE {
        let root = exp_half(-a);
        let value = if x < 0.0 { -a * root * root } else { x };
        times_share::<T>(value, reciprocal(root.mul_add(root, 1.0)), x)
    } else {
        let (r, scale) = split(-a);
        let z = scale
            * horner(
                r,
                [f(0x3c07_cd84), f(0x3d2b_a41b), f(0x3e2a_ae50), f(0x3eff_ff6b), f(0x3f7f_ffcb), f(0x3f7f_ffff)],
            );
        let value = if x < 0.0 { -a * z } else { x };
        times_share::<T>(value, reciprocal(1.0 + z), x)
    }
}

/// ½x (1 + tanh(√(2/π) (x + 0.044715 x³))), and -0 at -∞, its limit from below.
#[inline(always)]
pub fn gelu<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x3aaf_8000), -f(0x3aaf_8800));
    let (top, part) = if T::WIDE { (10.75, -0.5) } else { (8.0, -1.0) };
    let a = at_most(x.abs(), top);
    let (cubic, linear) = (part * f(0x3d72_56f3), part * f(0x3fa9_5d33));
    let z = a * a;
    let w = z.mul_add(cubic, linear);
    let t = (a * w).mul_add(f(0x3fde_b63a), MAGIC_BIASED);
    let r = a.mul_add(w, (t - MAGIC_BIASED) * -f(0x3f13_21c0));
    let r = if T::WIDE { r } else { a.mul_add(z.mul_add(cubic, linear - w), r) };
    let power = horner(r, [f(0x3cad_3b89), f(0x3db5_9e17), f(0x3e95_b7c2), f(0x3f3a_2c51), f(0x3f9a_5f2d), 1.0])
        * power_of_two(t);
    if T::WIDE {
        let value = if x < 0.0 { -a * power * power } else { x };
        times_share::<T>(value, reciprocal(power.mul_add(power, 1.0)), x)
    } else {
        let value = if x < 0.0 { -a * power } else { x };
        times_share::<T>(value, reciprocal(1.0 + power), x)
    }
}

/// ½x (1 + erf(x/√2)), and -0 at -∞, its limit from below.
#[inline(always)]
pub fn gelu_erf<T: Narrow>(x: f32) -> f32 {
    let a = at_most(x.abs(), if T::WIDE { 14.0 } else { 5.75 });
    let (above, below, z);
    if T::WIDE {
        above = horner(a, [f(0x3c8a_9c7b), f(0x3df3_a369), f(0x3eb8_dc68), f(0x3f00_001a)]);
        below = horner(a, [f(0x3d2d_a725), f(0x3e98_b2f4), f(0x3f73_4968), f(0x3fc2_9563), 1.0]);
        let root = exp_half(a * a * -0.5);
        z = root * root;
    } else {
        above = horner(a, [f(0x3c5c_6754), f(0x3dd4_4209), f(0x3eaa_7ec8), f(0x3f00_0001)]);
        below = horner(a, [f(0x3d0a_346b), f(0x3e84_b7b2), f(0x3f60_14ee), f(0x3fbb_605a), 1.0]);
        let (r, scale) = split(a * a * -0.5);
        z = scale
            * horner(
                r,
                [f(0x3c07_cfce), f(0x3d2b_9d0d), f(0x3e2a_ad40), f(0x3eff_fee3), f(0x3f7f_fffb), f(0x3f7f_ffff)],
            );
    }
    let tail = z * above * reciprocal(below);
    let (value, share) = if x < 0.0 { (-a, tail) } else { (x, 1.0 - tail) };
    times_share::<T>(value, share, x)
}

/// x above 0, alpha (eˣ - 1) else.
#[inline(always)]
pub fn elu<T: Narrow>(x: f32, alpha: f32) -> f32 {
    if x > 0.0 { x } else { alpha * expm1::<T>(x) }
}
