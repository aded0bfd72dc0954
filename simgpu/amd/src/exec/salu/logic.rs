//! Scalar moves, logic and shifts.

use crate::exec::scalar::{Scc, scalars};

/// Returns a result with SCC set if it is not zero.
#[inline(always)]
const fn logic32(bits: u32) -> (u32, Scc) {
    (bits, Scc(bits != 0))
}

/// As [`logic32`].
#[inline(always)]
const fn logic64(bits: u64) -> (u64, Scc) {
    (bits, Scc(bits != 0))
}

scalars! {
    /// Moves do not change SCC; logic and shifts set it if their result is not zero. Shifts take
    /// their count modulo the width.
    TABLE:
    "s_mov_b32" => |_scc, a: u32| -> u32 { a };
    "s_mov_b64" => |_scc, a: u64| -> u64 { a };
    "s_cmov_b32" => |scc, a: u32, old: u32| -> u32 { if scc { a } else { old } };
    "s_cmov_b64" => |scc, a: u64, old: u64| -> u64 { if scc { a } else { old } };
    "s_cselect_b32" => |scc, a: u32, b: u32| -> u32 { if scc { a } else { b } };
    "s_cselect_b64" => |scc, a: u64, b: u64| -> u64 { if scc { a } else { b } };
    "s_not_b32" => |_scc, a: u32| -> (u32, Scc) { logic32(!a) };
    "s_not_b64" => |_scc, a: u64| -> (u64, Scc) { logic64(!a) };
    "s_and_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(a & b) };
    "s_and_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(a & b) };
    "s_or_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(a | b) };
    "s_or_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(a | b) };
    "s_xor_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(a ^ b) };
    "s_xor_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(a ^ b) };
    "s_and_not1_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(a & !b) };
    "s_and_not1_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(a & !b) };
    "s_or_not1_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(a | !b) };
    "s_or_not1_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(a | !b) };
    "s_nand_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(!(a & b)) };
    "s_nand_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(!(a & b)) };
    "s_nor_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(!(a | b)) };
    "s_nor_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(!(a | b)) };
    "s_xnor_b32" => |_scc, a: u32, b: u32| -> (u32, Scc) { logic32(!(a ^ b)) };
    "s_xnor_b64" => |_scc, a: u64, b: u64| -> (u64, Scc) { logic64(!(a ^ b)) };
    "s_lshl_b32" => |_scc, a: u32, by: u32| -> (u32, Scc) { logic32(a << (by & 31)) };
    "s_lshl_b64" => |_scc, a: u64, by: u32| -> (u64, Scc) { logic64(a << (by & 63)) };
    "s_lshr_b32" => |_scc, a: u32, by: u32| -> (u32, Scc) { logic32(a >> (by & 31)) };
    "s_lshr_b64" => |_scc, a: u64, by: u32| -> (u64, Scc) { logic64(a >> (by & 63)) };
    "s_ashr_i32" => |_scc, a: i32, by: u32| -> (u32, Scc) { logic32((a >> (by & 31)) as u32) };
    "s_ashr_i64" => |_scc, a: i64, by: u32| -> (u64, Scc) { logic64((a >> (by & 63)) as u64) };
}
