//! The unfused multiply-adds of gfx90a. They round the product and then the sum, and flush
//! subnormal operands and results whatever the mode. Compilers therefore use them only if no
//! subnormal can occur, as in the division of 64-bit integers.

use super::half::{narrow, widen};
use crate::exec::lane::lanes;
use crate::exec::value::F16;

/// Flushes subnormals to zeros of the same sign.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x }
}

#[inline(always)]
fn mad(a: f32, b: f32, c: f32) -> f32 {
    let product = flush(flush(a) * flush(b));
    flush(product + flush(c))
}

#[inline(always)]
fn flush_half(x: F16) -> F16 {
    if x.0 & 0x7c00 == 0 { F16(x.0 & 0x8000) } else { x }
}

#[inline(always)]
fn mad_half(a: F16, b: F16, c: F16) -> F16 {
    let product = flush_half(narrow(widen(flush_half(a)) * widen(flush_half(b))));
    flush_half(narrow(widen(product) + widen(flush_half(c))))
}

lanes! {
    /// The unfused multiply-adds.
    TABLE:
    "v_mad_f32" => |a: f32, b: f32, c: f32| -> f32 { mad(a, b, c) };
    "v_mac_f32" => |a: f32, b: f32, c: f32| -> f32 { mad(a, b, c) };
    "v_madak_f32" => |a: f32, b: f32, c: f32| -> f32 { mad(a, b, c) };
    "v_madmk_f32" => |a: f32, b: f32, c: f32| -> f32 { mad(a, b, c) };
    "v_mad_legacy_f32" => |a: f32, b: f32, c: f32| -> f32 {
        let zero = (flush(a) == 0.0) | (flush(b) == 0.0);
        if zero { flush(flush(c) + 0.0) } else { mad(a, b, c) }
    };
    "v_mad_f16" => |a: F16, b: F16, c: F16| -> F16 { mad_half(a, b, c) };
    "v_mad_legacy_f16" => |a: F16, b: F16, c: F16| -> F16 { mad_half(a, b, c) };
    "v_mac_f16" => |a: F16, b: F16, c: F16| -> F16 { mad_half(a, b, c) };
    "v_madak_f16" => |a: F16, b: F16, c: F16| -> F16 { mad_half(a, b, c) };
    "v_madmk_f16" => |a: F16, b: F16, c: F16| -> F16 { mad_half(a, b, c) };
}
