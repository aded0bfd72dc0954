//! Conversions. To integers they round towards zero (unless the name says otherwise), saturate, and
//! return zero for a NaN. To floats they round once to nearest even.

use super::half::{narrow, widen};
use crate::exec::lane::lanes;
use crate::exec::value::{F16, U16x2};

/// Converts to binary16, rounding towards zero.
#[inline(always)]
fn towards_zero(x: f32) -> F16 {
    let near = narrow(x);
    let beyond = widen(near).abs() > x.abs();
    F16(near.0 - u16::from(beyond & x.is_finite()))
}

/// Converts a number from -1 to 1 to a signed fraction of 32767, to nearest.
#[inline(always)]
fn signed(x: f32) -> u16 {
    (f64::from(x).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16
}

/// Converts a number from 0 to 1 to a fraction of 65535, to nearest.
#[inline(always)]
fn unsigned(x: f32) -> u16 {
    (f64::from(x).clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

lanes! {
    /// Conversions between floats, and between floats and integers.
    TABLE:
    "v_cvt_f16_f32" => |x: f32| -> F16 { narrow(x) };
    "v_cvt_f32_f16" => |x: F16| -> f32 { widen(x) };
    "v_cvt_f32_f64" => |x: f64| -> f32 { x as f32 };
    "v_cvt_f64_f32" => |x: f32| -> f64 { x.into() };
    "v_cvt_f32_i32" => |x: i32| -> f32 { x as f32 };
    "v_cvt_f32_u32" => |x: u32| -> f32 { x as f32 };
    "v_cvt_f64_i32" => |x: i32| -> f64 { x.into() };
    "v_cvt_f64_u32" => |x: u32| -> f64 { x.into() };
    "v_cvt_f16_i16" => |x: i16| -> F16 { narrow(x.into()) };
    "v_cvt_f16_u16" => |x: u16| -> F16 { narrow(x.into()) };
    "v_cvt_i32_f32" => |x: f32| -> i32 { x as i32 };
    "v_cvt_u32_f32" => |x: f32| -> u32 { x as u32 };
    "v_cvt_i32_f64" => |x: f64| -> i32 { x as i32 };
    "v_cvt_u32_f64" => |x: f64| -> u32 { x as u32 };
    "v_cvt_i16_f16" => |x: F16| -> i16 { widen(x) as i16 };
    "v_cvt_u16_f16" => |x: F16| -> u16 { widen(x) as u16 };
    "v_cvt_nearest_i32_f32" => |x: f32| -> i32 { (x + 0.5).floor() as i32 };
    "v_cvt_floor_i32_f32" => |x: f32| -> i32 { x.floor() as i32 };
    "v_cvt_f32_ubyte0" => |x: u32| -> f32 { (x & 0xff) as f32 };
    "v_cvt_f32_ubyte1" => |x: u32| -> f32 { (x >> 8 & 0xff) as f32 };
    "v_cvt_f32_ubyte2" => |x: u32| -> f32 { (x >> 16 & 0xff) as f32 };
    "v_cvt_f32_ubyte3" => |x: u32| -> f32 { (x >> 24) as f32 };
    // A signed four-bit number, in sixteenths.
    "v_cvt_off_f32_i4" => |x: u32| -> f32 { ((x << 28) as i32 >> 28) as f32 / 16.0 };
}

lanes! {
    /// Conversions with two results in one register, and to fractions of the largest integer.
    PACKED:
    "v_cvt_pk_rtz_f16_f32" => |a: f32, b: f32| -> u32 {
        u32::from(towards_zero(a).0) | u32::from(towards_zero(b).0) << 16
    };
    "v_cvt_pk_i16_f32" => |a: f32, b: f32| -> U16x2 { U16x2(a as i16 as u16, b as i16 as u16) };
    "v_cvt_pk_u16_f32" => |a: f32, b: f32| -> U16x2 { U16x2(a as u16, b as u16) };
    "v_cvt_pk_norm_i16_f32" => |a: f32, b: f32| -> U16x2 { U16x2(signed(a), signed(b)) };
    "v_cvt_pk_norm_u16_f32" => |a: f32, b: f32| -> U16x2 { U16x2(unsigned(a), unsigned(b)) };
    "v_cvt_pk_norm_i16_f16" => |a: F16, b: F16| -> U16x2 { U16x2(signed(widen(a)), signed(widen(b))) };
    "v_cvt_pk_norm_u16_f16" => |a: F16, b: F16| -> U16x2 { U16x2(unsigned(widen(a)), unsigned(widen(b))) };
    "v_cvt_norm_i16_f16" => |x: F16| -> u16 { signed(widen(x)) };
    "v_cvt_norm_u16_f16" => |x: F16| -> u16 { unsigned(widen(x)) };
}
