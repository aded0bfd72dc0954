//! Tests of sums and differences.

use super::I16;
use super::{Carry, Case, I32, U16, U32, U64, check};

const TWO: i128 = 1 << 32;

fn over(x: i128) -> bool {
    !(0..TWO).contains(&x)
}

const CASES: &[Case] = &[
    Case::new("v_add_nc_u32", &[U32, U32], U32, |x| x[0] + x[1]),
    Case::new("v_add_nc_u32", &[U32, U32], U32, |x| x[0] + x[1]).clamped(),
    Case::new("v_sub_nc_u32", &[U32, U32], U32, |x| x[0] - x[1]),
    Case::new("v_sub_nc_u32", &[U32, U32], U32, |x| x[0] - x[1]).clamped(),
    Case::new("v_subrev_nc_u32", &[U32, U32], U32, |x| x[1] - x[0]),
    Case::new("v_subrev_nc_u32", &[U32, U32], U32, |x| x[1] - x[0]).clamped(),
    Case::new("v_add_nc_i32", &[I32, I32], I32, |x| x[0] + x[1]),
    Case::new("v_add_nc_i32", &[I32, I32], I32, |x| x[0] + x[1]).clamped(),
    Case::new("v_sub_nc_i32", &[I32, I32], I32, |x| x[0] - x[1]),
    Case::new("v_sub_nc_i32", &[I32, I32], I32, |x| x[0] - x[1]).clamped(),
    Case::new("v_add_co_u32", &[U32, U32], U32, |x| x[0] + x[1]).flag(|x| over(x[0] + x[1])),
    Case::new("v_add_co_u32", &[U32, U32], U32, |x| x[0] + x[1]).flag(|x| over(x[0] + x[1])).clamped(),
    Case::new("v_sub_co_u32", &[U32, U32], U32, |x| x[0] - x[1]).flag(|x| over(x[0] - x[1])),
    Case::new("v_sub_co_u32", &[U32, U32], U32, |x| x[0] - x[1]).flag(|x| over(x[0] - x[1])).clamped(),
    Case::new("v_subrev_co_u32", &[U32, U32], U32, |x| x[1] - x[0]).flag(|x| over(x[1] - x[0])),
    Case::new("v_subrev_co_u32", &[U32, U32], U32, |x| x[1] - x[0]).flag(|x| over(x[1] - x[0])).clamped(),
    Case::new("v_add_co_ci_u32", &[U32, U32, Carry], U32, |x| x[0] + x[1] + x[2]).flag(|x| over(x[0] + x[1] + x[2])),
    Case::new("v_add_co_ci_u32", &[U32, U32, Carry], U32, |x| x[0] + x[1] + x[2])
        .flag(|x| over(x[0] + x[1] + x[2]))
        .clamped(),
    Case::new("v_sub_co_ci_u32", &[U32, U32, Carry], U32, |x| x[0] - x[1] - x[2]).flag(|x| over(x[0] - x[1] - x[2])),
    Case::new("v_sub_co_ci_u32", &[U32, U32, Carry], U32, |x| x[0] - x[1] - x[2])
        .flag(|x| over(x[0] - x[1] - x[2]))
        .clamped(),
    Case::new("v_subrev_co_ci_u32", &[U32, U32, Carry], U32, |x| x[1] - x[0] - x[2]).flag(|x| over(x[1] - x[0] - x[2])),
    Case::new("v_subrev_co_ci_u32", &[U32, U32, Carry], U32, |x| x[1] - x[0] - x[2])
        .flag(|x| over(x[1] - x[0] - x[2]))
        .clamped(),
    Case::new("v_add3_u32", &[U32, U32, U32], U32, |x| x[0] + x[1] + x[2]),
    Case::new("v_lshl_add_u32", &[U32, U32, U32], U32, |x| x[0] * (1 << (x[1] % 32)) + x[2]),
    Case::new("v_lshl_add_u64", &[U64, U32, U64], U64, |x| x[0] * (1 << (x[1] % 8)) + x[2]),
    Case::new("v_add_lshl_u32", &[U32, U32, U32], U32, |x| (x[0] + x[1]) * (1 << (x[2] % 32))),
    Case::new("v_xad_u32", &[U32, U32, U32], U32, |x| {
        (0..32).map(|i| i128::from(x[0] >> i & 1 != x[1] >> i & 1) << i).sum::<i128>() + x[2]
    }),
    Case::new("v_cvt_i32_i16", &[I16], I32, |x| x[0]),
    Case::new("v_cvt_u32_u16", &[U16], U32, |x| x[0]),
];

#[test]
fn sums_and_differences_are_exact_modulo_their_width_or_clamped() {
    check(CASES);
}
