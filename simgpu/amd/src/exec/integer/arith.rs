//! Addition and subtraction of 32 and 64 bits.

use super::clamp::clamped;
use crate::exec::lane::lanes;
use crate::exec::value::{Flag, Mask};

/// Returns a sum with carry in, and the carry out.
#[inline(always)]
const fn add(a: u32, b: u32, carry: u32) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry & 1);
    (sum, first | second)
}

/// Returns a difference with borrow in, and the borrow out.
#[inline(always)]
const fn sub(a: u32, b: u32, borrow: u32) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow & 1);
    (difference, first | second)
}

/// Returns result and flag. The flag is the same if the result is clamped.
#[inline(always)]
const fn flagged((result, flag): (u32, bool)) -> (u32, Flag) {
    (result, Flag(flag))
}

#[inline(always)]
const fn clamped_to((result, flag): (u32, bool), limit: u32) -> (u32, Flag) {
    (if flag { limit } else { result }, Flag(flag))
}

clamped! {
    /// Additions and subtractions. A flag receives carries and borrows; `rev` swaps the operands.
    CLAMPED:
    "v_add_nc_u32" => |a: u32, b: u32| -> u32 { a.wrapping_add(b) } or { a.saturating_add(b) };
    "v_sub_nc_u32" => |a: u32, b: u32| -> u32 { a.wrapping_sub(b) } or { a.saturating_sub(b) };
    "v_subrev_nc_u32" => |a: u32, b: u32| -> u32 { b.wrapping_sub(a) } or { b.saturating_sub(a) };
    "v_add_nc_i32" => |a: i32, b: i32| -> i32 { a.wrapping_add(b) } or { a.saturating_add(b) };
    "v_sub_nc_i32" => |a: i32, b: i32| -> i32 { a.wrapping_sub(b) } or { a.saturating_sub(b) };
    "v_add_co_u32" => |a: u32, b: u32| -> (u32, Flag) {
        flagged(add(a, b, 0))
    } or {
        clamped_to(add(a, b, 0), u32::MAX)
    };
    "v_sub_co_u32" => |a: u32, b: u32| -> (u32, Flag) { flagged(sub(a, b, 0)) } or { clamped_to(sub(a, b, 0), 0) };
    "v_subrev_co_u32" => |a: u32, b: u32| -> (u32, Flag) { flagged(sub(b, a, 0)) } or { clamped_to(sub(b, a, 0), 0) };
    "v_add_co_ci_u32" => |a: u32, b: u32, carry: Mask| -> (u32, Flag) {
        flagged(add(a, b, carry.0))
    } or {
        clamped_to(add(a, b, carry.0), u32::MAX)
    };
    "v_sub_co_ci_u32" => |a: u32, b: u32, borrow: Mask| -> (u32, Flag) {
        flagged(sub(a, b, borrow.0))
    } or {
        clamped_to(sub(a, b, borrow.0), 0)
    };
    "v_subrev_co_ci_u32" => |a: u32, b: u32, borrow: Mask| -> (u32, Flag) {
        flagged(sub(b, a, borrow.0))
    } or {
        clamped_to(sub(b, a, borrow.0), 0)
    };
}

lanes! {
    /// Additions without a flag and without clamping.
    TABLE:
    "v_add3_u32" => |a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b).wrapping_add(c) };
    "v_lshl_add_u32" => |a: u32, by: u32, b: u32| -> u32 { (a << (by & 31)).wrapping_add(b) };
    "v_lshl_add_u64" => |a: u64, by: u32, b: u64| -> u64 { (a << (by & 7)).wrapping_add(b) };
    "v_add_lshl_u32" => |a: u32, b: u32, by: u32| -> u32 { a.wrapping_add(b) << (by & 31) };
    "v_xad_u32" => |a: u32, b: u32, c: u32| -> u32 { (a ^ b).wrapping_add(c) };
    "v_cvt_i32_i16" => |a: i16| -> i32 { a.into() };
    "v_cvt_u32_u16" => |a: u16| -> u32 { a.into() };
}
