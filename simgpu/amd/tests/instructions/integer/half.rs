//! Tests of 16-bit integers, in both halves of a register.

use super::{Carry, Case, I16, U16, check};

fn each(bit: impl Fn(u32) -> bool) -> i128 {
    (0..16).map(|i| i128::from(bit(i)) << i).sum()
}

fn bit(x: i128, i: u32) -> bool {
    x / (1 << i) % 2 == 1
}

const CASES: &[Case] = &[
    Case::new("v_add_nc_u16", &[U16, U16], U16, |x| x[0] + x[1]),
    Case::new("v_add_nc_u16", &[U16, U16], U16, |x| x[0] + x[1]).clamped(),
    Case::new("v_sub_nc_u16", &[U16, U16], U16, |x| x[0] - x[1]),
    Case::new("v_sub_nc_u16", &[U16, U16], U16, |x| x[0] - x[1]).clamped(),
    Case::new("v_subrev_nc_u16", &[U16, U16], U16, |x| x[1] - x[0]),
    Case::new("v_subrev_nc_u16", &[U16, U16], U16, |x| x[1] - x[0]).clamped(),
    Case::new("v_add_nc_i16", &[I16, I16], I16, |x| x[0] + x[1]),
    Case::new("v_add_nc_i16", &[I16, I16], I16, |x| x[0] + x[1]).clamped(),
    Case::new("v_sub_nc_i16", &[I16, I16], I16, |x| x[0] - x[1]),
    Case::new("v_sub_nc_i16", &[I16, I16], I16, |x| x[0] - x[1]).clamped(),
    Case::new("v_mul_lo_u16", &[U16, U16], U16, |x| x[0] * x[1]),
    Case::new("v_mad_u16", &[U16, U16, U16], U16, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_u16", &[U16, U16, U16], U16, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mad_i16", &[I16, I16, I16], I16, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_i16", &[I16, I16, I16], I16, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mad_legacy_u16", &[U16, U16, U16], U16, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_legacy_u16", &[U16, U16, U16], U16, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mad_legacy_i16", &[I16, I16, I16], I16, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_legacy_i16", &[I16, I16, I16], I16, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mov_b16", &[U16], U16, |x| x[0]),
    Case::new("v_cndmask_b16", &[U16, U16, Carry], U16, |x| x[x[2] as usize]),
    Case::new("v_not_b16", &[U16], U16, |x| -1 - x[0]),
    Case::new("v_and_b16", &[U16, U16], U16, |x| each(|i| bit(x[0], i) && bit(x[1], i))),
    Case::new("v_or_b16", &[U16, U16], U16, |x| each(|i| bit(x[0], i) || bit(x[1], i))),
    Case::new("v_xor_b16", &[U16, U16], U16, |x| each(|i| bit(x[0], i) != bit(x[1], i))),
    Case::new("v_lshlrev_b16", &[U16, U16], U16, |x| x[1] * (1 << (x[0] % 16))),
    Case::new("v_lshrrev_b16", &[U16, U16], U16, |x| x[1] / (1 << (x[0] % 16))),
    Case::new("v_ashrrev_i16", &[U16, I16], I16, |x| x[1].div_euclid(1 << (x[0] % 16))),
];

#[test]
fn halves_of_registers_are_read_and_written_alone() {
    check(CASES);
}
