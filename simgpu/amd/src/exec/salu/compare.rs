//! Scalar comparisons, which only set SCC.

use crate::exec::scalar::{Scc, scalars};

scalars! {
    /// Comparisons, and tests of a bit, whose position is taken modulo the width.
    TABLE:
    "s_cmp_eq_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a == b) };
    "s_cmp_lg_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a != b) };
    "s_cmp_gt_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a > b) };
    "s_cmp_ge_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a >= b) };
    "s_cmp_lt_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a < b) };
    "s_cmp_le_i32" => |_scc, a: i32, b: i32| -> Scc { Scc(a <= b) };
    "s_cmp_eq_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a == b) };
    "s_cmp_lg_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a != b) };
    "s_cmp_gt_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a > b) };
    "s_cmp_ge_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a >= b) };
    "s_cmp_lt_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a < b) };
    "s_cmp_le_u32" => |_scc, a: u32, b: u32| -> Scc { Scc(a <= b) };
    "s_cmp_eq_u64" => |_scc, a: u64, b: u64| -> Scc { Scc(a == b) };
    "s_cmp_lg_u64" => |_scc, a: u64, b: u64| -> Scc { Scc(a != b) };
    "s_bitcmp0_b32" => |_scc, a: u32, at: u32| -> Scc { Scc(a >> (at & 31) & 1 == 0) };
    "s_bitcmp0_b64" => |_scc, a: u64, at: u32| -> Scc { Scc(a >> (at & 63) & 1 == 0) };
    "s_bitcmp1_b32" => |_scc, a: u32, at: u32| -> Scc { Scc(a >> (at & 31) & 1 == 1) };
    "s_bitcmp1_b64" => |_scc, a: u64, at: u32| -> Scc { Scc(a >> (at & 63) & 1 == 1) };
}
