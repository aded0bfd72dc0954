//! Products and multiply-adds, of 32 bits and of the 24-bit multiplier, which uses the low 24 bits
//! of its operands.

use super::clamp::clamped;
use crate::exec::lane::lanes;
use crate::exec::value::Flag;

/// Returns the low 24 bits.
#[inline(always)]
const fn u24(a: u32) -> u64 {
    (a & 0xff_ffff) as u64
}

/// Returns the low 24 bits, sign-extended.
#[inline(always)]
const fn i24(a: i32) -> i64 {
    (a << 8 >> 8) as i64
}

#[inline(always)]
fn clamp_u32(x: u64) -> u32 {
    x.min(u32::MAX.into()) as u32
}

#[inline(always)]
fn clamp_i32(x: i64) -> i32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

clamped! {
    /// Products of 16 or 24 bits, exact in 64 bits before they are wrapped or clamped, and 32-bit
    /// products with a 64-bit sum.
    CLAMPED:
    "v_mul_u32_u24" => |a: u32, b: u32| -> u32 { (u24(a) * u24(b)) as u32 } or { clamp_u32(u24(a) * u24(b)) };
    "v_mul_i32_i24" => |a: i32, b: i32| -> i32 { (i24(a) * i24(b)) as i32 } or { clamp_i32(i24(a) * i24(b)) };
    "v_mad_u32_u24" => |a: u32, b: u32, c: u32| -> u32 {
        (u24(a) * u24(b) + u64::from(c)) as u32
    } or {
        clamp_u32(u24(a) * u24(b) + u64::from(c))
    };
    "v_mad_i32_i24" => |a: i32, b: i32, c: i32| -> i32 {
        (i24(a) * i24(b) + i64::from(c)) as i32
    } or {
        clamp_i32(i24(a) * i24(b) + i64::from(c))
    };
    "v_mad_u32_u16" => |a: u16, b: u16, c: u32| -> u32 {
        (u32::from(a) * u32::from(b)).wrapping_add(c)
    } or {
        (u32::from(a) * u32::from(b)).saturating_add(c)
    };
    "v_mad_i32_i16" => |a: i16, b: i16, c: i32| -> i32 {
        (i32::from(a) * i32::from(b)).wrapping_add(c)
    } or {
        (i32::from(a) * i32::from(b)).saturating_add(c)
    };
    "v_mad_u64_u32" => |a: u32, b: u32, c: u64| -> (u64, Flag) {
        let (sum, carry) = (u64::from(a) * u64::from(b)).overflowing_add(c);
        (sum, Flag(carry))
    } or {
        let (sum, carry) = (u64::from(a) * u64::from(b)).overflowing_add(c);
        (if carry { u64::MAX } else { sum }, Flag(carry))
    };
    // The flag is the sign of the exact sum, which needs 65 bits.
    "v_mad_i64_i32" => |a: i32, b: i32, c: i64| -> (i64, Flag) {
        let (sum, overflow) = (i64::from(a) * i64::from(b)).overflowing_add(c);
        (sum, Flag((sum < 0) != overflow))
    } or {
        let product = i64::from(a) * i64::from(b);
        let (sum, overflow) = product.overflowing_add(c);
        (product.saturating_add(c), Flag((sum < 0) != overflow))
    };
}

lanes! {
    /// Products without a sum.
    TABLE:
    "v_mul_lo_u32" => |a: u32, b: u32| -> u32 { a.wrapping_mul(b) };
    "v_mul_hi_u32" => |a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 };
    "v_mul_hi_i32" => |a: i32, b: i32| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 };
    "v_mul_hi_u32_u24" => |a: u32, b: u32| -> u32 { ((u24(a) * u24(b)) >> 32) as u32 };
    "v_mul_hi_i32_i24" => |a: i32, b: i32| -> i32 { ((i24(a) * i24(b)) >> 32) as i32 };
}
