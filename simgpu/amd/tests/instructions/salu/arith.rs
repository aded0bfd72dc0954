//! Tests of sums, products, order and comparisons.

use super::After::{Is, NotZero, Same};
use super::{Case, I32, U32, U64, check};

const UNSIGNED: &[super::Type] = &[U32, U32];
const SIGNED: &[super::Type] = &[I32, I32];

fn carries(x: i128) -> bool {
    !(0..1 << 32).contains(&x)
}

fn overflows(x: i128) -> bool {
    !(-(1 << 31)..1 << 31).contains(&x)
}

const CASES: &[Case] = &[
    Case::new("s_add_u32", UNSIGNED, U32, |g| g.x[0] + g.x[1], Is(|g| carries(g.x[0] + g.x[1]))),
    Case::new("s_sub_u32", UNSIGNED, U32, |g| g.x[0] - g.x[1], Is(|g| carries(g.x[0] - g.x[1]))),
    Case::new("s_add_i32", SIGNED, I32, |g| g.x[0] + g.x[1], Is(|g| overflows(g.x[0] + g.x[1]))),
    Case::new("s_sub_i32", SIGNED, I32, |g| g.x[0] - g.x[1], Is(|g| overflows(g.x[0] - g.x[1]))),
    Case::new(
        "s_addc_u32",
        UNSIGNED,
        U32,
        |g| g.x[0] + g.x[1] + i128::from(g.scc),
        Is(|g| carries(g.x[0] + g.x[1] + i128::from(g.scc))),
    ),
    Case::new(
        "s_subb_u32",
        UNSIGNED,
        U32,
        |g| g.x[0] - g.x[1] - i128::from(g.scc),
        Is(|g| carries(g.x[0] - g.x[1] - i128::from(g.scc))),
    ),
    Case::new("s_lshl1_add_u32", UNSIGNED, U32, |g| 2 * g.x[0] + g.x[1], Is(|g| carries(2 * g.x[0] + g.x[1]))),
    Case::new("s_lshl2_add_u32", UNSIGNED, U32, |g| 4 * g.x[0] + g.x[1], Is(|g| carries(4 * g.x[0] + g.x[1]))),
    Case::new("s_lshl3_add_u32", UNSIGNED, U32, |g| 8 * g.x[0] + g.x[1], Is(|g| carries(8 * g.x[0] + g.x[1]))),
    Case::new("s_lshl4_add_u32", UNSIGNED, U32, |g| 16 * g.x[0] + g.x[1], Is(|g| carries(16 * g.x[0] + g.x[1]))),
    Case::new("s_mul_i32", SIGNED, I32, |g| g.x[0] * g.x[1], Same),
    Case::new("s_mul_hi_u32", UNSIGNED, U32, |g| g.x[0] * g.x[1] / (1 << 32), Same),
    Case::new("s_mul_hi_i32", SIGNED, I32, |g| (g.x[0] * g.x[1]).div_euclid(1 << 32), Same),
    Case::new("s_min_u32", UNSIGNED, U32, |g| if g.x[0] < g.x[1] { g.x[0] } else { g.x[1] }, Is(|g| g.x[0] < g.x[1])),
    Case::new("s_min_i32", SIGNED, I32, |g| if g.x[0] < g.x[1] { g.x[0] } else { g.x[1] }, Is(|g| g.x[0] < g.x[1])),
    Case::new("s_max_u32", UNSIGNED, U32, |g| if g.x[0] < g.x[1] { g.x[1] } else { g.x[0] }, Is(|g| g.x[0] >= g.x[1])),
    Case::new("s_max_i32", SIGNED, I32, |g| if g.x[0] < g.x[1] { g.x[1] } else { g.x[0] }, Is(|g| g.x[0] >= g.x[1])),
    Case::new("s_abs_i32", &[I32], I32, |g| g.x[0].abs(), NotZero),
    // The difference wraps before its absolute value is taken.
    Case::new(
        "s_absdiff_i32",
        SIGNED,
        I32,
        |g| ((g.x[0] - g.x[1] + (1 << 31)).rem_euclid(1 << 32) - (1 << 31)).abs(),
        NotZero,
    ),
    Case::compare("s_cmp_eq_i32", &[I32, I32], |g| g.x[0] == g.x[1]),
    Case::compare("s_cmp_lg_i32", &[I32, I32], |g| g.x[0] != g.x[1]),
    Case::compare("s_cmp_gt_i32", &[I32, I32], |g| g.x[0] > g.x[1]),
    Case::compare("s_cmp_ge_i32", &[I32, I32], |g| g.x[0] >= g.x[1]),
    Case::compare("s_cmp_lt_i32", &[I32, I32], |g| g.x[0] < g.x[1]),
    Case::compare("s_cmp_le_i32", &[I32, I32], |g| g.x[0] <= g.x[1]),
    Case::compare("s_cmp_eq_u32", &[U32, U32], |g| g.x[0] == g.x[1]),
    Case::compare("s_cmp_lg_u32", &[U32, U32], |g| g.x[0] != g.x[1]),
    Case::compare("s_cmp_gt_u32", &[U32, U32], |g| g.x[0] > g.x[1]),
    Case::compare("s_cmp_ge_u32", &[U32, U32], |g| g.x[0] >= g.x[1]),
    Case::compare("s_cmp_lt_u32", &[U32, U32], |g| g.x[0] < g.x[1]),
    Case::compare("s_cmp_le_u32", &[U32, U32], |g| g.x[0] <= g.x[1]),
    Case::compare("s_cmp_eq_u64", &[U64, U64], |g| g.x[0] == g.x[1]),
    Case::compare("s_cmp_lg_u64", &[U64, U64], |g| g.x[0] != g.x[1]),
];

#[test]
fn arithmetic_is_exact_modulo_its_width_and_scc_tells_what_was_lost() {
    check(CASES);
}
