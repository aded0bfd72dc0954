//! Scalar addition, subtraction, multiplication, minimum and maximum.

use crate::exec::scalar::{Scc, scalars};

/// Returns the sum with a shifted operand, and the carry out of its 32 bits; bits that were shifted
/// out count as carry.
#[inline(always)]
fn shift_add(a: u32, shift: u32, b: u32) -> (u32, Scc) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, Scc(sum >> 32 != 0))
}

scalars! {
    /// Arithmetic. SCC is the carry or borrow of unsigned sums and the overflow of signed ones. For
    /// a minimum or maximum, it says whether the result is the first operand.
    TABLE:
    "s_add_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) {
        let (sum, carry) = a.overflowing_add(b);
        (sum, Scc(carry))
    };
    "s_sub_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) {
        let (difference, borrow) = a.overflowing_sub(b);
        (difference, Scc(borrow))
    };
    "s_add_i32" => |_scc, a: i32, b: i32| -> (i32, Scc) {
        let (sum, overflow) = a.overflowing_add(b);
        (sum, Scc(overflow))
    };
    "s_sub_i32" => |_scc, a: i32, b: i32| -> (i32, Scc) {
        let (difference, overflow) = a.overflowing_sub(b);
        (difference, Scc(overflow))
    };
    "s_addc_u32" => |scc, a: u32, b: u32| -> (u32, Scc) {
        let sum = u64::from(a) + u64::from(b) + u64::from(scc);
        (sum as u32, Scc(sum >> 32 != 0))
    };
    "s_subb_u32" => |scc, a: u32, b: u32| -> (u32, Scc) {
        let difference = i64::from(a) - i64::from(b) - i64::from(scc);
        (difference as u32, Scc(difference < 0))
    };
    "s_lshl1_add_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { shift_add(a, 1, b) };
    "s_lshl2_add_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { shift_add(a, 2, b) };
    "s_lshl3_add_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { shift_add(a, 3, b) };
    "s_lshl4_add_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { shift_add(a, 4, b) };
    "s_mul_i32" => |_scc, a: i32, b: i32| -> i32 { a.wrapping_mul(b) };
    "s_mul_hi_u32" => |_scc, a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 };
    "s_mul_hi_i32" => |_scc, a: i32, b: i32| -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 };
    "s_min_i32" => |_scc, a: i32, b: i32| -> (i32, Scc) { (a.min(b), Scc(a < b)) };
    "s_min_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { (a.min(b), Scc(a < b)) };
    "s_max_i32" => |_scc, a: i32, b: i32| -> (i32, Scc) { (a.max(b), Scc(a >= b)) };
    "s_max_u32" => |_scc, a: u32, b: u32| -> (u32, Scc) { (a.max(b), Scc(a >= b)) };
    // The most negative number is its own absolute value.
    "s_abs_i32" => |_scc, a: i32| -> (i32, Scc) { (a.wrapping_abs(), Scc(a != 0)) };
    "s_absdiff_i32" => |_scc, a: i32, b: i32| -> (i32, Scc) {
        let magnitude = a.wrapping_sub(b).wrapping_abs();
        (magnitude, Scc(magnitude != 0))
    };
}
