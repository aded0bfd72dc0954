//! sigmoid, silu, gelu (tanh approximation), gelu_erf, elu and celu.

use super::Narrow;
use super::common::{LN_2, LOG2_E, MAGIC_BIASED, at_least, at_most, f, horner, moved, power_of_two, reciprocal};
use super::exp::{exp_half, expm1, expm1_unsigned, split};

/// Returns `value * share` with x's sign, nudged upwards. Near 0 the nudge breaks the ties of
/// halved odd subnormals in the direction of the true value.
#[inline(always)]
pub(super) fn times_share<T: Narrow>(value: f32, share: f32, x: f32) -> f32 {
    let nudge = if T::WIDE { f(0x0000_0200) } else { f(0x2800_0000) };
    value.mul_add(share, nudge).copysign(x)
}

/// Returns 2⁻³² for bf16, whose e⁻ˣ may exceed f32's range, and the offset that scales its powers
/// of two by 2⁻³².
const fn unit<T: Narrow>() -> (f32, f32) {
    if T::WIDE { (f(0x2f80_0000), MAGIC_BIASED - 32.0) } else { (1.0, MAGIC_BIASED) }
}

/// Returns 1 / (1 + e⁻ˣ) for an `x` whose power of two is in f32's range, with the given polynomial
/// for e⁻ʳ.
#[inline(always)]
fn share<T: Narrow>(x: f32, polynomial: [f32; 6]) -> f32 {
    let (unit, offset) = unit::<T>();
    let t = x.mul_add(-LOG2_E, offset);
    let r = (t - offset).mul_add(LN_2, x);
    let inverse = reciprocal(horner(r, polynomial).mul_add(power_of_two(t), unit));
    if T::WIDE { inverse * unit } else { inverse }
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid<T: Narrow>(x: f32) -> f32 {
    if T::WIDE {
        let x = at_least(at_most(x, 30.0), -110.0);
        share::<T>(x, [-f(0x3c07_c488), f(0x3d2b_99e3), -f(0x3e2a_b32e), f(0x3eff_ff9a), -f(0x3f7f_ffe8), 1.0])
    } else {
        let (r, scale) = split(-at_most(x.abs(), 30.0));
        let z = scale
            * horner(
                r,
                [f(0x3c07_ce8a), f(0x3d2b_a6a4), f(0x3e2a_adb7), f(0x3eff_fe0d), f(0x3f7f_fff4), f(0x3f80_0002)],
            );
        (if x < 0.0 { z } else { 1.0 }) * reciprocal(1.0 + z)
    }
}

/// x / (1 + e⁻ˣ); -0 at -∞, its limit from below.
#[inline(always)]
pub fn silu<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x3a00_0000), -f(0x3a00_0800));
    let x = at_least(x, if T::WIDE { -110.0 } else { -30.0 });
    let share = share::<T>(
        at_most(x, 30.0),
        [-f(0x3c07_ccbd), f(0x3d2b_a43e), -f(0x3e2a_ae51), f(0x3eff_fe4f), -f(0x3f7f_ffd0), f(0x3f7f_ffff)],
    );
    times_share::<T>(x, share, x)
}

/// ½x (1 + tanh(√(2/π) (x + 0.044715 x³))); -0 at -∞, its limit from below.
#[inline(always)]
pub fn gelu<T: Narrow>(x: f32) -> f32 {
    let x = moved::<T>(x, -f(0x3aaf_8000), -f(0x3aaf_8800));
    let x = moved::<T>(x, -f(0x39ca_a000), -f(0x39ca_a800));
    let x = at_least(x, if T::WIDE { -10.75 } else { -8.0 });
    let a = at_most(x, 8.0);
    let share = share::<T>(
        a * (a * a).mul_add(f(0x3d92_2274), f(0x3fcc_422b)),
        [-f(0x3c07_cbc9), f(0x3d2b_a3ae), -f(0x3e2a_b04f), f(0x3eff_fec7), -f(0x3f7f_ffec), 1.0],
    );
    times_share::<T>(x, share, x)
}

/// ½x (1 + erf(x/√2)); -0 at -∞, its limit from below.
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

/// x if x > 0, else alpha (eˣ - 1).
#[inline(always)]
pub fn elu<T: Narrow>(x: f32, alpha: f32) -> f32 {
    if x > 0.0 { x } else { alpha * expm1::<T>(x) }
}

/// x if x > 0, else alpha (e^(x / alpha) - 1).
#[inline(always)]
pub fn celu<T: Narrow>(x: f32, alpha: f32) -> f32 {
    // Scaled if 1 / alpha may be infinite: by 2⁶⁴ below 2⁻⁶⁰.
    let scale = if alpha.abs() < f(0x2180_0000) { f(0x5f80_0000) } else { 1.0 };
    let t = (x * scale) * (1.0 / (alpha * scale));
    match x {
        _ if x > 0.0 => x,
        // The curve is below the precision, and t may be subnormal.
        _ if t.abs() < f(0x3300_0000) => x,
        _ => alpha * expm1_unsigned::<true>(t),
    }
}
