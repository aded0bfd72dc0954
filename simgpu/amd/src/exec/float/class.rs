//! Classification of numbers. The second operand is a set of classes, one bit each in this order:
//! signalling NaN, quiet NaN, -infinity, negative normal, negative subnormal, -0, +0, positive
//! subnormal, positive normal, +infinity.

use crate::exec::lane::lanes;
use crate::exec::value::{F16, Flag};

/// Returns the number of a class.
#[inline(always)]
fn class(negative: bool, exponent_all: bool, exponent_none: bool, fraction: bool, quiet: bool) -> u32 {
    // The magnitude's class: 0 zero, 1 subnormal, 2 normal, 3 infinity.
    let size = if exponent_none { u32::from(fraction) } else { 2 + u32::from(exponent_all) };
    let number = if negative { 5 - size } else { 6 + size };
    if exponent_all & fraction { u32::from(quiet) } else { number }
}

#[inline(always)]
fn class_f16(x: F16) -> u32 {
    let x = u32::from(x.0);
    class(x >> 15 == 1, x & 0x7c00 == 0x7c00, x & 0x7c00 == 0, x & 0x3ff != 0, x & 0x200 != 0)
}

#[inline(always)]
fn class_f32(x: f32) -> u32 {
    let x = x.to_bits();
    let exponent = x & 0x7f80_0000;
    class(x >> 31 == 1, exponent == 0x7f80_0000, exponent == 0, x & 0x7f_ffff != 0, x & 0x40_0000 != 0)
}

#[inline(always)]
fn class_f64(x: f64) -> u32 {
    let x = x.to_bits();
    let exponent = x >> 52 & 0x7ff;
    class(x >> 63 == 1, exponent == 0x7ff, exponent == 0, x << 12 != 0, x >> 51 & 1 == 1)
}

lanes! {
    /// The class tests.
    TABLE:
    "v_cmp_class_f16" => |x: F16, set: u32| -> Flag { Flag(set >> class_f16(x) & 1 == 1) };
    "v_cmp_class_f32" => |x: f32, set: u32| -> Flag { Flag(set >> class_f32(x) & 1 == 1) };
    "v_cmp_class_f64" => |x: f64, set: u32| -> Flag { Flag(set >> class_f64(x) & 1 == 1) };
    "v_cmpx_class_f16" => |x: F16, set: u32| -> Flag { Flag(set >> class_f16(x) & 1 == 1) };
    "v_cmpx_class_f32" => |x: f32, set: u32| -> Flag { Flag(set >> class_f32(x) & 1 == 1) };
    "v_cmpx_class_f64" => |x: f64, set: u32| -> Flag { Flag(set >> class_f64(x) & 1 == 1) };
}
