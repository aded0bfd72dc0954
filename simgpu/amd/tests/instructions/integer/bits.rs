//! Tests of moves, logic, shifts, fields and order: by division, bit by bit, and by sorting.

use super::{Carry, Case, I16, I32, I64, U16, U32, U64, check};

/// Returns a word that is built bit by bit.
fn each(bit: impl Fn(u32) -> bool) -> i128 {
    (0..32).map(|i| i128::from(bit(i)) << i).sum()
}

fn bit(x: i128, i: u32) -> bool {
    x / (1 << i) % 2 == 1
}

fn power(x: i128, width: i128) -> i128 {
    1 << (x % width)
}

/// Returns the first of 32 positions for which `found` is true, or -1.
fn first(found: impl Fn(u32) -> bool) -> i128 {
    (0..32).find(|&i| found(i)).map_or(-1, i128::from)
}

fn sorted(x: &[i128]) -> Vec<i128> {
    let mut x = x.to_vec();
    x.sort_unstable();
    x
}

const CASES: &[Case] = &[
    Case::new("v_mov_b32", &[U32], U32, |x| x[0]),
    Case::new("v_mov_b64", &[U64], U64, |x| x[0]),
    Case::new("v_cndmask_b32", &[U32, U32, Carry], U32, |x| x[x[2] as usize]),
    Case::new("v_not_b32", &[U32], U32, |x| -1 - x[0]),
    Case::new("v_and_b32", &[U32, U32], U32, |x| each(|i| bit(x[0], i) && bit(x[1], i))),
    Case::new("v_or_b32", &[U32, U32], U32, |x| each(|i| bit(x[0], i) || bit(x[1], i))),
    Case::new("v_xor_b32", &[U32, U32], U32, |x| each(|i| bit(x[0], i) != bit(x[1], i))),
    Case::new("v_xnor_b32", &[U32, U32], U32, |x| each(|i| bit(x[0], i) == bit(x[1], i))),
    Case::new("v_and_or_b32", &[U32, U32, U32], U32, |x| each(|i| bit(x[0], i) && bit(x[1], i) || bit(x[2], i))),
    Case::new("v_or3_b32", &[U32, U32, U32], U32, |x| each(|i| x.iter().any(|&x| bit(x, i)))),
    Case::new("v_xor3_b32", &[U32, U32, U32], U32, |x| each(|i| x.iter().filter(|&&x| bit(x, i)).count() % 2 == 1)),
    Case::new("v_lshlrev_b32", &[U32, U32], U32, |x| x[1] * power(x[0], 32)),
    Case::new("v_lshrrev_b32", &[U32, U32], U32, |x| x[1] / power(x[0], 32)),
    Case::new("v_ashrrev_i32", &[U32, I32], I32, |x| x[1].div_euclid(power(x[0], 32))),
    Case::new("v_lshlrev_b64", &[U32, U64], U64, |x| x[1] * power(x[0], 64) % (1 << 64)),
    Case::new("v_lshrrev_b64", &[U32, U64], U64, |x| x[1] / power(x[0], 64)),
    Case::new("v_ashrrev_i64", &[U32, I64], I64, |x| x[1].div_euclid(power(x[0], 64))),
    Case::new("v_lshl_or_b32", &[U32, U32, U32], U32, |x| {
        let shifted = x[0] * power(x[1], 32);
        each(|i| bit(shifted, i) || bit(x[2], i))
    }),
    Case::new("v_bfrev_b32", &[U32], U32, |x| each(|i| bit(x[0], 31 - i))),
    Case::new("v_bfm_b32", &[U32, U32], U32, |x| (power(x[0], 32) - 1) * power(x[1], 32)),
    Case::new("v_bfe_u32", &[U32, U32, U32], U32, |x| x[0] / power(x[1], 32) % power(x[2], 32)),
    Case::new("v_bfe_i32", &[I32, U32, U32], I32, |x| {
        let (field, size) = (x[0].div_euclid(power(x[1], 32)).rem_euclid(power(x[2], 32)), power(x[2], 32));
        if 2 * field >= size && size > 1 { field - size } else { field }
    }),
    Case::new("v_bfi_b32", &[U32, U32, U32], U32, |x| each(|i| bit(if bit(x[0], i) { x[1] } else { x[2] }, i))),
    Case::new("v_alignbit_b32", &[U32, U32, U32], U32, |x| (x[0] * (1 << 32) + x[1]) / power(x[2], 32)),
    Case::new("v_alignbyte_b32", &[U32, U32, U32], U32, |x| (x[0] * (1 << 32) + x[1]) / power(8 * (x[2] % 4), 32)),
    Case::new("v_perm_b32", &[U32, U32, U32], U32, |x| {
        let bytes: Vec<u8> = [x[1] as u32, x[0] as u32].iter().flat_map(|x| x.to_le_bytes()).collect();
        let pick = |select: u8| match select {
            0..=7 => bytes[usize::from(select)],
            8..=11 if bytes[[1, 3, 5, 7][usize::from(select) - 8]] >= 0x80 => 0xff,
            8..=12 => 0,
            _ => 0xff,
        };
        u32::from_le_bytes((x[2] as u32).to_le_bytes().map(pick)).into()
    }),
    Case::new("v_bcnt_u32_b32", &[U32, U32], U32, |x| (0..32).filter(|&i| bit(x[0], i)).count() as i128 + x[1]),
    Case::new("v_clz_i32_u32", &[U32], I32, |x| first(|i| bit(x[0], 31 - i))),
    Case::new("v_ctz_i32_b32", &[U32], I32, |x| first(|i| bit(x[0], i))),
    Case::new("v_cls_i32", &[U32], I32, |x| first(|i| bit(x[0], 31 - i) != bit(x[0], 31))),
    Case::new("v_min_u32", &[U32, U32], U32, |x| sorted(x)[0]),
    Case::new("v_max_u32", &[U32, U32], U32, |x| sorted(x)[1]),
    Case::new("v_min_i32", &[I32, I32], I32, |x| sorted(x)[0]),
    Case::new("v_max_i32", &[I32, I32], I32, |x| sorted(x)[1]),
    Case::new("v_min3_u32", &[U32, U32, U32], U32, |x| sorted(x)[0]),
    Case::new("v_med3_u32", &[U32, U32, U32], U32, |x| sorted(x)[1]),
    Case::new("v_max3_u32", &[U32, U32, U32], U32, |x| sorted(x)[2]),
    Case::new("v_min3_i32", &[I32, I32, I32], I32, |x| sorted(x)[0]),
    Case::new("v_med3_i32", &[I32, I32, I32], I32, |x| sorted(x)[1]),
    Case::new("v_max3_i32", &[I32, I32, I32], I32, |x| sorted(x)[2]),
    Case::new("v_min_u16", &[U16, U16], U16, |x| sorted(x)[0]),
    Case::new("v_max_u16", &[U16, U16], U16, |x| sorted(x)[1]),
    Case::new("v_min_i16", &[I16, I16], I16, |x| sorted(x)[0]),
    Case::new("v_max_i16", &[I16, I16], I16, |x| sorted(x)[1]),
    Case::new("v_min3_u16", &[U16, U16, U16], U16, |x| sorted(x)[0]),
    Case::new("v_med3_u16", &[U16, U16, U16], U16, |x| sorted(x)[1]),
    Case::new("v_max3_u16", &[U16, U16, U16], U16, |x| sorted(x)[2]),
    Case::new("v_min3_i16", &[I16, I16, I16], I16, |x| sorted(x)[0]),
    Case::new("v_med3_i16", &[I16, I16, I16], I16, |x| sorted(x)[1]),
    Case::new("v_max3_i16", &[I16, I16, I16], I16, |x| sorted(x)[2]),
    Case::new("v_maxmin_u32", &[U32, U32, U32], U32, |x| sorted(&[sorted(&x[..2])[1], x[2]])[0]),
    Case::new("v_minmax_u32", &[U32, U32, U32], U32, |x| sorted(&[sorted(&x[..2])[0], x[2]])[1]),
    Case::new("v_maxmin_i32", &[I32, I32, I32], I32, |x| sorted(&[sorted(&x[..2])[1], x[2]])[0]),
    Case::new("v_minmax_i32", &[I32, I32, I32], I32, |x| sorted(&[sorted(&x[..2])[0], x[2]])[1]),
];

#[test]
fn bits_go_where_they_should() {
    check(CASES);
}
