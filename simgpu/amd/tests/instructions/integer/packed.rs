//! Tests of two 16-bit numbers at a time: each half separately, and halves swapped by `op_sel`.

use super::{Case, Pair, check};
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Encoding, Operand};

/// Returns the halves of all operands, low first.
fn halves(x: &[i128]) -> [Vec<i128>; 2] {
    [0, 16].map(|at| x.iter().map(|x| (x >> at) % 65536).collect())
}

fn signed(x: i128) -> i128 {
    if x >= 32768 { x - 65536 } else { x }
}

/// Applies a function to unsigned halves, wrapping the results.
fn unsigned(x: &[i128], f: impl Fn(&[i128]) -> i128) -> i128 {
    let [low, high] = halves(x).map(|half| f(&half).rem_euclid(65536));
    low + 65536 * high
}

/// Applies a function to signed halves, wrapping the results.
fn of_signed(x: &[i128], f: impl Fn(&[i128]) -> i128) -> i128 {
    unsigned(x, |half| f(&half.iter().map(|&x| signed(x)).collect::<Vec<_>>()))
}

fn u16(x: i128) -> i128 {
    x.clamp(0, 65535)
}

fn i16(x: i128) -> i128 {
    x.clamp(-32768, 32767)
}

const TWO: &[super::Type] = &[Pair, Pair];
const THREE: &[super::Type] = &[Pair, Pair, Pair];

const CASES: &[Case] = &[
    Case::new("v_pk_add_u16", TWO, Pair, |x| unsigned(x, |x| x[0] + x[1])).packed(),
    Case::new("v_pk_add_u16", TWO, Pair, |x| unsigned(x, |x| u16(x[0] + x[1]))).packed().clamped(),
    Case::new("v_pk_sub_u16", TWO, Pair, |x| unsigned(x, |x| x[0] - x[1])).packed(),
    Case::new("v_pk_sub_u16", TWO, Pair, |x| unsigned(x, |x| u16(x[0] - x[1]))).packed().clamped(),
    Case::new("v_pk_add_i16", TWO, Pair, |x| of_signed(x, |x| x[0] + x[1])).packed(),
    Case::new("v_pk_add_i16", TWO, Pair, |x| of_signed(x, |x| i16(x[0] + x[1]))).packed().clamped(),
    Case::new("v_pk_sub_i16", TWO, Pair, |x| of_signed(x, |x| x[0] - x[1])).packed(),
    Case::new("v_pk_sub_i16", TWO, Pair, |x| of_signed(x, |x| i16(x[0] - x[1]))).packed().clamped(),
    Case::new("v_pk_mul_lo_u16", TWO, Pair, |x| unsigned(x, |x| x[0] * x[1])).packed(),
    Case::new("v_pk_mad_u16", THREE, Pair, |x| unsigned(x, |x| x[0] * x[1] + x[2])).packed(),
    Case::new("v_pk_mad_u16", THREE, Pair, |x| unsigned(x, |x| u16(x[0] * x[1] + x[2]))).packed().clamped(),
    Case::new("v_pk_mad_i16", THREE, Pair, |x| of_signed(x, |x| x[0] * x[1] + x[2])).packed(),
    Case::new("v_pk_mad_i16", THREE, Pair, |x| of_signed(x, |x| i16(x[0] * x[1] + x[2]))).packed().clamped(),
    Case::new("v_pk_min_u16", TWO, Pair, |x| unsigned(x, |x| if x[0] < x[1] { x[0] } else { x[1] })).packed(),
    Case::new("v_pk_max_u16", TWO, Pair, |x| unsigned(x, |x| if x[0] > x[1] { x[0] } else { x[1] })).packed(),
    Case::new("v_pk_min_i16", TWO, Pair, |x| of_signed(x, |x| if x[0] < x[1] { x[0] } else { x[1] })).packed(),
    Case::new("v_pk_max_i16", TWO, Pair, |x| of_signed(x, |x| if x[0] > x[1] { x[0] } else { x[1] })).packed(),
    Case::new("v_pk_lshlrev_b16", TWO, Pair, |x| unsigned(x, |x| x[1] * (1 << (x[0] % 16)))).packed(),
    Case::new("v_pk_lshrrev_b16", TWO, Pair, |x| unsigned(x, |x| x[1] / (1 << (x[0] % 16)))).packed(),
    Case::new("v_pk_ashrrev_i16", TWO, Pair, |x| of_signed(x, |x| x[1].div_euclid(1 << x[0].rem_euclid(16)))).packed(),
];

#[test]
fn each_half_is_computed_alone() {
    check(CASES);
}

#[test]
fn op_sel_picks_the_half_of_each_operand_for_each_half_of_the_result() {
    let mut random = Random(2);
    for mut bench in Bench::all() {
        for bits in 0..16 {
            bench.fill(&mut random);
            let src = [Operand::Vgpr(2), Operand::Vgpr(3)];
            let mut code = inst("v_pk_sub_u16", Encoding::Vop3p, Operand::Vgpr(2), &src);
            (code.op_sel, code.op_sel_hi) = (bits & 3, bits >> 2);
            let before: Vec<_> = (0..bench.wave.width).map(|lane| [2, 3].map(|v| bench.word(v, lane))).collect();
            bench.run(&code);
            for (lane, words) in before.into_iter().enumerate() {
                let half = |operand: usize, high: u8| i64::from(words[operand]) / [1, 65536][usize::from(high)] % 65536;
                let low = half(0, bits & 1) - half(1, bits >> 1 & 1);
                let high = half(0, bits >> 2 & 1) - half(1, bits >> 3 & 1);
                let expected = low.rem_euclid(65536) + 65536 * high.rem_euclid(65536);
                assert_eq!(i64::from(bench.word(2, lane)), expected, "op_sel {bits:#b}, lane {lane}");
            }
        }
    }
}
