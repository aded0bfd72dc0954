//! Moves, logic, shifts and bit fields.

use crate::exec::lane::lanes;
use crate::exec::value::Mask;

/// Returns a count, or -1 if nothing was found.
#[inline(always)]
const fn found(count: u32, none: bool) -> i32 {
    if none { -1 } else { count as i32 }
}

/// Returns the byte of two words that a selector chooses: 0 to 7 a byte, 8 to 11 the sign of byte
/// 1, 3, 5 or 7 repeated eight times, 12 zero, above that all ones.
#[inline(always)]
const fn permuted(words: u64, selector: u32) -> u32 {
    let place = if selector < 8 { selector } else { (selector & 3) * 2 + 1 };
    let byte = (words >> (8 * place)) as u32 & 0xff;
    let sign = (byte >> 7) * 0xff;
    if selector < 8 {
        byte
    } else if selector < 12 {
        sign
    } else if selector == 12 {
        0
    } else {
        0xff
    }
}

lanes! {
    /// Shifts take their count modulo the width; `rev` forms have the count first.
    TABLE:
    "v_mov_b32" => |a: u32| -> u32 { a };
    "v_mov_b64" => |a: u64| -> u64 { a };
    "v_accvgpr_read_b32" => |a: u32| -> u32 { a };
    "v_accvgpr_write_b32" => |a: u32| -> u32 { a };
    "v_accvgpr_mov_b32" => |a: u32| -> u32 { a };
    "v_cndmask_b32" => |a: u32, b: u32, pick: Mask| -> u32 { if pick.is_set() { b } else { a } };
    "v_not_b32" => |a: u32| -> u32 { !a };
    "v_and_b32" => |a: u32, b: u32| -> u32 { a & b };
    "v_or_b32" => |a: u32, b: u32| -> u32 { a | b };
    "v_xor_b32" => |a: u32, b: u32| -> u32 { a ^ b };
    "v_xnor_b32" => |a: u32, b: u32| -> u32 { !(a ^ b) };
    "v_and_or_b32" => |a: u32, b: u32, c: u32| -> u32 { a & b | c };
    "v_or3_b32" => |a: u32, b: u32, c: u32| -> u32 { a | b | c };
    "v_xor3_b32" => |a: u32, b: u32, c: u32| -> u32 { a ^ b ^ c };
    "v_lshlrev_b32" => |by: u32, a: u32| -> u32 { a << (by & 31) };
    "v_lshrrev_b32" => |by: u32, a: u32| -> u32 { a >> (by & 31) };
    "v_ashrrev_i32" => |by: u32, a: i32| -> i32 { a >> (by & 31) };
    "v_lshlrev_b64" => |by: u32, a: u64| -> u64 { a << (by & 63) };
    "v_lshrrev_b64" => |by: u32, a: u64| -> u64 { a >> (by & 63) };
    "v_ashrrev_i64" => |by: u32, a: i64| -> i64 { a >> (by & 63) };
    "v_lshl_or_b32" => |a: u32, by: u32, b: u32| -> u32 { a << (by & 31) | b };
    "v_bfrev_b32" => |a: u32| -> u32 { a.reverse_bits() };
    "v_bfm_b32" => |width: u32, at: u32| -> u32 { ((1 << (width & 31)) - 1) << (at & 31) };
    "v_bfe_u32" => |a: u32, at: u32, width: u32| -> u32 { a >> (at & 31) & ((1 << (width & 31)) - 1) };
    "v_bfe_i32" => |a: i32, at: u32, width: u32| -> i32 {
        let width = width & 31;
        let rest = (32 - width) & 31;
        let field = a >> (at & 31) << rest >> rest;
        if width == 0 { 0 } else { field }
    };
    "v_bfi_b32" => |mask: u32, a: u32, b: u32| -> u32 { mask & a | !mask & b };
    "v_alignbit_b32" => |high: u32, low: u32, by: u32| -> u32 {
        ((u64::from(high) << 32 | u64::from(low)) >> (by & 31)) as u32
    };
    "v_alignbyte_b32" => |high: u32, low: u32, by: u32| -> u32 {
        ((u64::from(high) << 32 | u64::from(low)) >> (8 * (by & 3))) as u32
    };
    "v_perm_b32" => |high: u32, low: u32, select: u32| -> u32 {
        let words = u64::from(high) << 32 | u64::from(low);
        permuted(words, select & 0xff)
            | permuted(words, select >> 8 & 0xff) << 8
            | permuted(words, select >> 16 & 0xff) << 16
            | permuted(words, select >> 24) << 24
    };
    "v_bcnt_u32_b32" => |a: u32, b: u32| -> u32 { a.count_ones().wrapping_add(b) };
    "v_clz_i32_u32" => |a: u32| -> i32 { found(a.leading_zeros(), a == 0) };
    "v_ctz_i32_b32" => |a: u32| -> i32 { found(a.trailing_zeros(), a == 0) };
    // The position of the first bit from the top that differs from the sign.
    "v_cls_i32" => |a: i32| -> i32 {
        let differs = a ^ a >> 31;
        found(differs.leading_zeros(), differs == 0)
    };
}
