//! Minimum, maximum and median.

use crate::exec::lane::lanes;

/// Returns the median.
#[inline(always)]
fn median<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(c).max(a.min(b))
}

lanes! {
    /// 32-bit and 16-bit instructions. `maxmin` is the minimum of a maximum, `minmax` the maximum
    /// of a minimum.
    TABLE:
    "v_min_i32" => |a: i32, b: i32| -> i32 { a.min(b) };
    "v_max_i32" => |a: i32, b: i32| -> i32 { a.max(b) };
    "v_min3_i32" => |a: i32, b: i32, c: i32| -> i32 { a.min(b).min(c) };
    "v_max3_i32" => |a: i32, b: i32, c: i32| -> i32 { a.max(b).max(c) };
    "v_med3_i32" => |a: i32, b: i32, c: i32| -> i32 { median(a, b, c) };
    "v_min_u32" => |a: u32, b: u32| -> u32 { a.min(b) };
    "v_max_u32" => |a: u32, b: u32| -> u32 { a.max(b) };
    "v_min3_u32" => |a: u32, b: u32, c: u32| -> u32 { a.min(b).min(c) };
    "v_max3_u32" => |a: u32, b: u32, c: u32| -> u32 { a.max(b).max(c) };
    "v_med3_u32" => |a: u32, b: u32, c: u32| -> u32 { median(a, b, c) };
    "v_min_i16" => |a: i16, b: i16| -> i16 { a.min(b) };
    "v_max_i16" => |a: i16, b: i16| -> i16 { a.max(b) };
    "v_min3_i16" => |a: i16, b: i16, c: i16| -> i16 { a.min(b).min(c) };
    "v_max3_i16" => |a: i16, b: i16, c: i16| -> i16 { a.max(b).max(c) };
    "v_med3_i16" => |a: i16, b: i16, c: i16| -> i16 { median(a, b, c) };
    "v_min_u16" => |a: u16, b: u16| -> u16 { a.min(b) };
    "v_max_u16" => |a: u16, b: u16| -> u16 { a.max(b) };
    "v_min3_u16" => |a: u16, b: u16, c: u16| -> u16 { a.min(b).min(c) };
    "v_max3_u16" => |a: u16, b: u16, c: u16| -> u16 { a.max(b).max(c) };
    "v_med3_u16" => |a: u16, b: u16, c: u16| -> u16 { median(a, b, c) };
    "v_maxmin_i32" => |a: i32, b: i32, c: i32| -> i32 { a.max(b).min(c) };
    "v_minmax_i32" => |a: i32, b: i32, c: i32| -> i32 { a.min(b).max(c) };
    "v_maxmin_u32" => |a: u32, b: u32, c: u32| -> u32 { a.max(b).min(c) };
    "v_minmax_u32" => |a: u32, b: u32, c: u32| -> u32 { a.min(b).max(c) };
}
