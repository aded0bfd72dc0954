//! Arithmetic of binary16: computed exactly or almost exactly in binary32, then rounded once.
//!
//! A sum, product, quotient or root of two binary16, rounded to binary32 and then to binary16, is
//! the correctly rounded one, because 24 bits are at least twice 11 plus two (Figueroa, "When is
//! double rounding innocuous?", 1995). Products are always exact in binary32, and sums that are
//! subnormal in binary16 are exact. For other operations the binary32 is rounded to odd; a
//! following rounding to 13 bits or fewer then gives the same result as from the exact value (Boldo
//! and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).

use crate::exec::lane::lanes;
use crate::exec::value::{F16, F16x2};

/// Converts to binary32, exactly; a signalling NaN becomes quiet.
#[inline(always)]
pub fn widen(x: F16) -> f32 {
    let magnitude = u32::from(x.0 & 0x7fff) << 13;
    let exponent = magnitude & 0x0f80_0000;
    let normal = magnitude + (112 << 23);
    let special = (magnitude + (224 << 23)) | if magnitude > 0x0f80_0000 { 0x40_0000 } else { 0 };
    // A subnormal has the exponent of the smallest normal number, but not the implicit bit, which
    // this subtracts.
    let subnormal = f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23);
    let bits = if exponent == 0x0f80_0000 { special } else { normal };
    let bits = if exponent == 0 { subnormal.to_bits() } else { bits };
    f32::from_bits(bits | u32::from(x.0 & 0x8000) << 16)
}

/// Rounds to nearest even; a NaN keeps the high bits of its payload and becomes quiet.
#[inline(always)]
pub fn narrow(x: f32) -> F16 {
    let bits = x.to_bits() & 0x7fff_ffff;
    let even = bits >> 13 & 1;
    let normal = bits.wrapping_sub(112 << 23).wrapping_add(0xfff + even) >> 13;
    // The last bit of the sum is that of a subnormal binary16.
    let subnormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let special = if bits > 0x7f80_0000 { 0x7e00 | bits >> 13 & 0x3ff } else { 0x7c00 };
    let half = if bits < 113 << 23 { subnormal } else { normal };
    let half = if bits >= 143 << 23 { special } else { half };
    F16((half | x.to_bits() >> 16 & 0x8000) as u16)
}

/// Combines a rounded sum and its rounding error to one value that is rounded to odd.
#[inline(always)]
fn to_odd(sum: f32, lost: f32) -> f32 {
    let away = (lost > 0.0) == sum.is_sign_positive();
    let inexact = (lost < 0.0) | (lost > 0.0);
    let step = if away { 1 } else { u32::MAX };
    let even = sum.to_bits() & 1 == 0;
    f32::from_bits(sum.to_bits().wrapping_add(if inexact & even { step } else { 0 }))
}

/// Converts to binary16, rounding once.
#[inline(always)]
pub fn narrow_f64(x: f64) -> F16 {
    let near = x as f32;
    let lost = x - f64::from(near);
    // The difference may be too small for binary32; only its sign matters.
    let lost = if lost > 0.0 {
        1.0
    } else if lost < 0.0 {
        -1.0
    } else {
        0.0
    };
    narrow(to_odd(near, if near.is_finite() { lost } else { 0.0 }))
}

/// Computes `a b + c`, rounded once.
#[inline(always)]
pub fn fma(a: F16, b: F16, c: F16) -> F16 {
    let (product, c) = (widen(a) * widen(b), widen(c));
    let sum = product + c;
    // The exact rounding error of the sum (Knuth's two-sum). It is NaN if the sum is not finite,
    // which counts as no error.
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    narrow(to_odd(sum, lost))
}

/// Applies an operation to both halves.
#[inline(always)]
pub fn both(a: F16x2, b: F16x2, f: impl Fn(F16, F16) -> F16) -> F16x2 {
    F16x2(f(F16(a.0), F16(b.0)).0, f(F16(a.1), F16(b.1)).0)
}

#[inline(always)]
fn add(a: F16, b: F16) -> F16 {
    narrow(widen(a) + widen(b))
}

#[inline(always)]
fn mul(a: F16, b: F16) -> F16 {
    narrow(widen(a) * widen(b))
}

lanes! {
    /// Arithmetic of binary16, single and packed.
    TABLE:
    "v_add_f16" => |a: F16, b: F16| -> F16 { add(a, b) };
    "v_sub_f16" => |a: F16, b: F16| -> F16 { narrow(widen(a) - widen(b)) };
    "v_subrev_f16" => |a: F16, b: F16| -> F16 { narrow(widen(b) - widen(a)) };
    "v_mul_f16" => |a: F16, b: F16| -> F16 { mul(a, b) };
    "v_fma_f16" => |a: F16, b: F16, c: F16| -> F16 { fma(a, b, c) };
    "v_fma_legacy_f16" => |a: F16, b: F16, c: F16| -> F16 { fma(a, b, c) };
    "v_fmac_f16" => |a: F16, b: F16, c: F16| -> F16 { fma(a, b, c) };
    "v_fmaak_f16" => |a: F16, b: F16, c: F16| -> F16 { fma(a, b, c) };
    "v_fmamk_f16" => |a: F16, b: F16, c: F16| -> F16 { fma(a, b, c) };
    "v_pk_add_f16" => |a: F16x2, b: F16x2| -> F16x2 { both(a, b, add) };
    "v_pk_mul_f16" => |a: F16x2, b: F16x2| -> F16x2 { both(a, b, mul) };
    "v_pk_fma_f16" => |a: F16x2, b: F16x2, c: F16x2| -> F16x2 {
        F16x2(fma(F16(a.0), F16(b.0), F16(c.0)).0, fma(F16(a.1), F16(b.1), F16(c.1)).0)
    };
    "v_pk_fmac_f16" => |a: F16x2, b: F16x2, c: F16x2| -> F16x2 {
        F16x2(fma(F16(a.0), F16(b.0), F16(c.0)).0, fma(F16(a.1), F16(b.1), F16(c.1)).0)
    };
    "v_pack_b32_f16" => |a: F16, b: F16| -> u32 { u32::from(a.0) | u32::from(b.0) << 16 };
    // Products of binary16 are exact in binary32, so it makes no difference whether sums are fused
    // with them.
    "v_dot2_f32_f16" => |a: F16x2, b: F16x2, c: f32| -> f32 { dot(a, b, c) };
    "v_dot2acc_f32_f16" => |a: F16x2, b: F16x2, c: f32| -> f32 { dot(a, b, c) };
    "v_dot2c_f32_f16" => |a: F16x2, b: F16x2, c: f32| -> f32 { dot(a, b, c) };
}

#[inline(always)]
fn dot(a: F16x2, b: F16x2, c: f32) -> f32 {
    let low = c + widen(F16(a.0)) * widen(F16(b.0));
    low + widen(F16(a.1)) * widen(F16(b.1))
}
