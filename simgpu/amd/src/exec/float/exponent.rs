//! Scaling by powers of two, and decomposition of numbers into fraction and exponent.

use super::half::{narrow, widen};
use crate::exec::lane::lanes;
use crate::exec::value::F16;

/// Returns `2^n` for `-1022 <= n <= 1023`.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// Returns `x 2^n`, rounded once.
#[inline(always)]
pub fn scale_f64(x: f64, n: i32) -> f64 {
    // Scales down in steps of 2^-969. If such a step leaves a subnormal, the remaining scaling
    // makes the result zero or at most half of the smallest subnormal, whatever that step lost.
    let step = |n: i32| {
        if n > 1023 {
            1023
        } else if n < -1022 {
            -969
        } else {
            0
        }
    };
    let first = step(n);
    let n = n.clamp(-4000, 4000) - first;
    let second = step(n);
    x * power(first) * power(second) * power((n - second).clamp(-1022, 1023))
}

/// Returns `x 2^n`, rounded once. It is computed exactly in binary64; results outside the clamp
/// still round correctly.
#[inline(always)]
fn scale_f32(x: f32, n: i32) -> f32 {
    (f64::from(x) * power(n.clamp(-300, 300))) as f32
}

#[inline(always)]
fn scale_f16(x: F16, n: i32) -> F16 {
    // This is exact in binary32, as above.
    narrow(widen(x) * f32::from_bits(((n.clamp(-60, 60) + 127) as u32) << 23))
}

/// Returns a fraction in [0.5, 1) and the exponent. For zero, infinity and NaN the exponent is zero
/// and the fraction is the number itself.
#[inline(always)]
fn take_apart_f32(x: f32) -> (f32, i32) {
    let subnormal = x.abs() < f32::MIN_POSITIVE;
    let normal = (if subnormal { x * 4_294_967_296.0 } else { x }).to_bits();
    let exponent = (normal >> 23 & 0xff) as i32 - 126 - if subnormal { 32 } else { 0 };
    let fraction = f32::from_bits(normal & 0x807f_ffff | 126 << 23);
    let none = (x == 0.0) | !x.is_finite();
    if none { (x + x, 0) } else { (fraction, exponent) }
}

#[inline(always)]
fn take_apart_f64(x: f64) -> (f64, i32) {
    let subnormal = x.abs() < f64::MIN_POSITIVE;
    let normal = (if subnormal { x * 18_446_744_073_709_551_616.0 } else { x }).to_bits();
    let exponent = (normal >> 52 & 0x7ff) as i32 - 1022 - if subnormal { 64 } else { 0 };
    let fraction = f64::from_bits(normal & 0x800f_ffff_ffff_ffff | 1022 << 52);
    let none = (x == 0.0) | !x.is_finite();
    if none { (x + x, 0) } else { (fraction, exponent) }
}

#[inline(always)]
fn take_apart_f16(x: F16) -> (F16, i32) {
    // Every binary16 except zero is normal in binary32.
    let (fraction, exponent) = take_apart_f32(widen(x));
    (narrow(fraction), exponent)
}

lanes! {
    /// Scaling and decomposition.
    TABLE:
    "v_ldexp_f16" => |x: F16, n: i16| -> F16 { scale_f16(x, n.into()) };
    "v_ldexp_f32" => |x: f32, n: i32| -> f32 { scale_f32(x, n) };
    "v_ldexp_f64" => |x: f64, n: i32| -> f64 { scale_f64(x, n) };
    "v_frexp_exp_i16_f16" => |x: F16| -> i16 { take_apart_f16(x).1 as i16 };
    "v_frexp_exp_i32_f32" => |x: f32| -> i32 { take_apart_f32(x).1 };
    "v_frexp_exp_i32_f64" => |x: f64| -> i32 { take_apart_f64(x).1 };
    "v_frexp_mant_f16" => |x: F16| -> F16 { take_apart_f16(x).0 };
    "v_frexp_mant_f32" => |x: f32| -> f32 { take_apart_f32(x).0 };
    "v_frexp_mant_f64" => |x: f64| -> f64 { take_apart_f64(x).0 };
}
