//! Tests of moves, logic, shifts, fields and counts: bit by bit, and by division.

use super::After::{NotZero, Same};
use super::{Case, I32, I64, U32, U64, check};

fn bit(x: i128, i: u32) -> bool {
    x.div_euclid(1 << i).rem_euclid(2) == 1
}

fn each32(f: impl Fn(u32) -> bool) -> i128 {
    (0..32).map(|i| i128::from(f(i)) << i).sum()
}

fn each64(f: impl Fn(u32) -> bool) -> i128 {
    (0..64).map(|i| i128::from(f(i)) << i).sum()
}

fn power(x: i128, width: i128) -> i128 {
    1 << x.rem_euclid(width)
}

fn first(places: u32, found: impl Fn(u32) -> bool) -> i128 {
    (0..places).find(|&i| found(i)).map_or(-1, i128::from)
}

fn count(places: u32, x: i128, of: bool) -> i128 {
    (0..places).filter(|&i| bit(x, i) == of).count() as i128
}

/// Returns the field of `x` that a word selects: its offset modulo the register's width, its width
/// up to 127.
fn field(x: i128, word: i128, width: i128, signed: bool) -> i128 {
    let (at, bits) = (word.rem_euclid(width), word / 65536 % 128);
    let bits = if bits > width { width } else { bits };
    let low = x.div_euclid(1 << at).rem_euclid(1 << bits);
    if signed && bits > 0 && low >= 1 << (bits - 1) { low - (1 << bits) } else { low }
}

const CASES: &[Case] = &[
    Case::new("s_mov_b32", &[U32], U32, |g| g.x[0], Same),
    Case::new("s_mov_b64", &[U64], U64, |g| g.x[0], Same),
    Case::new("s_cmov_b32", &[U32], U32, |g| if g.scc { g.x[0] } else { g.old }, Same),
    Case::new("s_cmov_b64", &[U64], U64, |g| if g.scc { g.x[0] } else { g.old }, Same),
    Case::new("s_cselect_b32", &[U32, U32], U32, |g| g.x[usize::from(!g.scc)], Same),
    Case::new("s_cselect_b64", &[U64, U64], U64, |g| g.x[usize::from(!g.scc)], Same),
    Case::new("s_not_b32", &[U32], U32, |g| -1 - g.x[0], NotZero),
    Case::new("s_not_b64", &[U64], U64, |g| -1 - g.x[0], NotZero),
    Case::new(
        "s_and_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a && b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_and_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a && b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_or_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a || b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_or_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a || b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_xor_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a != b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_xor_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a != b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_and_not1_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a && !b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_and_not1_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a && !b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_or_not1_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a || !b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_or_not1_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a || !b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_nand_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                !(a && b)
            })
        },
        NotZero,
    ),
    Case::new(
        "s_nand_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                !(a && b)
            })
        },
        NotZero,
    ),
    Case::new(
        "s_nor_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                !(a || b)
            })
        },
        NotZero,
    ),
    Case::new(
        "s_nor_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                !(a || b)
            })
        },
        NotZero,
    ),
    Case::new(
        "s_xnor_b32",
        &[U32, U32],
        U32,
        |g| {
            each32(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a == b
            })
        },
        NotZero,
    ),
    Case::new(
        "s_xnor_b64",
        &[U64, U64],
        U64,
        |g| {
            each64(|i| {
                let (a, b) = (bit(g.x[0], i), bit(g.x[1], i));
                a == b
            })
        },
        NotZero,
    ),
    Case::new("s_lshl_b32", &[U32, U32], U32, |g| g.x[0] * power(g.x[1], 32), NotZero),
    Case::new("s_lshl_b64", &[U64, U32], U64, |g| g.x[0] % (1 << (64 - g.x[1] % 64)) * power(g.x[1], 64), NotZero),
    Case::new("s_lshr_b32", &[U32, U32], U32, |g| g.x[0] / power(g.x[1], 32), NotZero),
    Case::new("s_lshr_b64", &[U64, U32], U64, |g| g.x[0] / power(g.x[1], 64), NotZero),
    Case::new("s_ashr_i32", &[I32, U32], I32, |g| g.x[0].div_euclid(power(g.x[1], 32)), NotZero),
    Case::new("s_ashr_i64", &[I64, U32], I64, |g| g.x[0].div_euclid(power(g.x[1], 64)), NotZero),
    Case::new("s_bfe_u32", &[U32, U32], U32, |g| field(g.x[0], g.x[1], 32, false), NotZero),
    Case::new("s_bfe_i32", &[I32, U32], I32, |g| field(g.x[0], g.x[1], 32, true), NotZero),
    Case::new("s_bfe_u64", &[U64, U32], U64, |g| field(g.x[0], g.x[1], 64, false), NotZero),
    Case::new("s_bfe_i64", &[I64, U32], I64, |g| field(g.x[0], g.x[1], 64, true), NotZero),
    Case::new("s_bfm_b32", &[U32, U32], U32, |g| (power(g.x[0], 32) - 1) * power(g.x[1], 32), Same),
    Case::new(
        "s_bfm_b64",
        &[U32, U32],
        U64,
        |g| {
            let (from, to) = (g.x[1] % 64, g.x[1] % 64 + g.x[0] % 64);
            each64(|i| (from..to).contains(&i.into()))
        },
        Same,
    ),
    Case::new("s_brev_b32", &[U32], U32, |g| each32(|i| bit(g.x[0], 31 - i)), Same),
    Case::new("s_brev_b64", &[U64], U64, |g| each64(|i| bit(g.x[0], 63 - i)), Same),
    Case::new("s_bcnt0_i32_b32", &[U32], U32, |g| count(32, g.x[0], false), NotZero),
    Case::new("s_bcnt0_i32_b64", &[U64], U32, |g| count(64, g.x[0], false), NotZero),
    Case::new("s_bcnt1_i32_b32", &[U32], U32, |g| count(32, g.x[0], true), NotZero),
    Case::new("s_bcnt1_i32_b64", &[U64], U32, |g| count(64, g.x[0], true), NotZero),
    Case::new("s_ff0_i32_b32", &[U32], I32, |g| first(32, |i| !bit(g.x[0], i)), Same),
    Case::new("s_ff0_i32_b64", &[U64], I32, |g| first(64, |i| !bit(g.x[0], i)), Same),
    Case::new("s_ctz_i32_b32", &[U32], I32, |g| first(32, |i| bit(g.x[0], i)), Same),
    Case::new("s_ctz_i32_b64", &[U64], I32, |g| first(64, |i| bit(g.x[0], i)), Same),
    Case::new("s_clz_i32_u32", &[U32], I32, |g| first(32, |i| bit(g.x[0], 31 - i)), Same),
    Case::new("s_clz_i32_u64", &[U64], I32, |g| first(64, |i| bit(g.x[0], 63 - i)), Same),
    Case::new("s_cls_i32", &[U32], I32, |g| first(32, |i| bit(g.x[0], 31 - i) != bit(g.x[0], 31)), Same),
    Case::new("s_cls_i32_i64", &[I64], I32, |g| first(64, |i| bit(g.x[0], 63 - i) != bit(g.x[0], 63)), Same),
    Case::new("s_sext_i32_i8", &[U32], I32, |g| (g.x[0] + 128) % 256 - 128, Same),
    Case::new("s_sext_i32_i16", &[U32], I32, |g| (g.x[0] + 32768) % 65536 - 32768, Same),
    Case::new("s_bitset0_b32", &[U32], U32, |g| each32(|i| bit(g.old, i) && i128::from(i) != g.x[0] % 32), Same),
    Case::new("s_bitset0_b64", &[U32], U64, |g| each64(|i| bit(g.old, i) && i128::from(i) != g.x[0] % 64), Same),
    Case::new("s_bitset1_b32", &[U32], U32, |g| each32(|i| bit(g.old, i) || i128::from(i) == g.x[0] % 32), Same),
    Case::new("s_bitset1_b64", &[U32], U64, |g| each64(|i| bit(g.old, i) || i128::from(i) == g.x[0] % 64), Same),
    Case::new("s_bitreplicate_b64_b32", &[U32], U64, |g| each64(|i| bit(g.x[0], i / 2)), Same),
    Case::new("s_quadmask_b32", &[U32], U32, |g| each32(|i| i < 8 && (0..4).any(|j| bit(g.x[0], 4 * i + j))), NotZero),
    Case::new("s_quadmask_b64", &[U64], U64, |g| each64(|i| i < 16 && (0..4).any(|j| bit(g.x[0], 4 * i + j))), NotZero),
    Case::new("s_wqm_b32", &[U32], U32, |g| each32(|i| (0..4).any(|j| bit(g.x[0], i / 4 * 4 + j))), NotZero),
    Case::new("s_wqm_b64", &[U64], U64, |g| each64(|i| (0..4).any(|j| bit(g.x[0], i / 4 * 4 + j))), NotZero),
    Case::new("s_pack_ll_b32_b16", &[U32, U32], U32, |g| g.x[0] % 65536 + g.x[1] % 65536 * 65536, Same),
    Case::new("s_pack_lh_b32_b16", &[U32, U32], U32, |g| g.x[0] % 65536 + g.x[1] / 65536 * 65536, Same),
    Case::new("s_pack_hl_b32_b16", &[U32, U32], U32, |g| g.x[0] / 65536 + g.x[1] % 65536 * 65536, Same),
    Case::new("s_pack_hh_b32_b16", &[U32, U32], U32, |g| g.x[0] / 65536 + g.x[1] / 65536 * 65536, Same),
    Case::compare("s_bitcmp0_b32", &[U32, U32], |g| !bit(g.x[0], (g.x[1] % 32) as u32)),
    Case::compare("s_bitcmp0_b64", &[U64, U32], |g| !bit(g.x[0], (g.x[1] % 64) as u32)),
    Case::compare("s_bitcmp1_b32", &[U32, U32], |g| bit(g.x[0], (g.x[1] % 32) as u32)),
    Case::compare("s_bitcmp1_b64", &[U64, U32], |g| bit(g.x[0], (g.x[1] % 64) as u32)),
];

#[test]
fn bits_go_where_they_should() {
    check(CASES);
}
