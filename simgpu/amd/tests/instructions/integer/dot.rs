//! Tests of dot products: elements are extracted by division and summed exactly.

use super::{Case, I32, U32, check};
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Encoding, Operand};

/// Returns the elements of a word, as numbers of `bits` bits.
fn elements(word: i128, bits: u32, signed: bool) -> Vec<i128> {
    let size = 1i128 << bits;
    let unsigned = (0..32 / bits).map(|at| word.rem_euclid(1 << 32) / size.pow(at) % size);
    unsigned.map(|x| if signed && 2 * x >= size { x - size } else { x }).collect()
}

fn dot(x: &[i128], bits: u32, signed: [bool; 2]) -> i128 {
    let products = elements(x[0], bits, signed[0]).into_iter().zip(elements(x[1], bits, signed[1])).map(|(a, b)| a * b);
    products.sum::<i128>() + x[2]
}

const I: &[super::Type] = &[U32, U32, I32];
const U: &[super::Type] = &[U32, U32, U32];
const BOTH: [bool; 2] = [true; 2];
const NONE: [bool; 2] = [false; 2];

const CASES: &[Case] = &[
    Case::new("v_dot4_i32_i8", I, I32, |x| dot(x, 8, BOTH)).packed(),
    Case::new("v_dot4_i32_i8", I, I32, |x| dot(x, 8, BOTH)).packed().clamped(),
    Case::new("v_dot4_u32_u8", U, U32, |x| dot(x, 8, NONE)).packed(),
    Case::new("v_dot4_u32_u8", U, U32, |x| dot(x, 8, NONE)).packed().clamped(),
    Case::new("v_dot8_i32_i4", I, I32, |x| dot(x, 4, BOTH)).packed(),
    Case::new("v_dot8_i32_i4", I, I32, |x| dot(x, 4, BOTH)).packed().clamped(),
    Case::new("v_dot8_u32_u4", U, U32, |x| dot(x, 4, NONE)).packed(),
    Case::new("v_dot8_u32_u4", U, U32, |x| dot(x, 4, NONE)).packed().clamped(),
    Case::new("v_dot4_i32_iu8", I, I32, |x| dot(x, 8, NONE)).packed(),
    Case::new("v_dot8_i32_iu4", I, I32, |x| dot(x, 4, NONE)).packed(),
];

#[test]
fn dot_products_are_exact_modulo_their_width_or_clamped() {
    check(CASES);
}

/// Returns three words of a lane, and the instruction's result, which replaces the third.
fn words(bench: &mut Bench, code: &isobit_simgpu_amd::isa::Inst, random: &mut Random) -> Vec<([i128; 3], i128)> {
    bench.fill(random);
    let before: Vec<_> = (0..bench.wave.width).map(|lane| [2, 4, 20].map(|v| bench.word(v, lane).into())).collect();
    bench.run(code);
    before.into_iter().enumerate().map(|(lane, x)| (x, bench.word(20, lane).into())).collect()
}

#[test]
fn each_operand_is_signed_where_its_neg_bit_says_so() {
    let mut random = Random(3);
    let src = [Operand::Vgpr(2), Operand::Vgpr(4), Operand::Vgpr(20)];
    for mut bench in Bench::all() {
        for (name, bits) in [("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)] {
            for neg in 0..4 {
                for clamp in [false, true] {
                    let mut code = inst(name, Encoding::Vop3p, Operand::Vgpr(20), &src);
                    (code.neg, code.clamp) = (neg, clamp);
                    for (x, is) in words(&mut bench, &code, &mut random) {
                        let x = [x[0], x[1], I32.number(x[2] as u64)];
                        let exact = dot(&x, bits, [neg & 1 != 0, neg & 2 != 0]);
                        let should = if clamp { I32.clamp(exact) } else { exact };
                        assert_eq!(is, should.rem_euclid(1 << 32), "{name} neg {neg} clamp {clamp} {x:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn accumulating_products_add_to_their_destination() {
    let mut random = Random(4);
    for mut bench in Bench::all() {
        for (name, bits) in [("v_dot2c_i32_i16", 16), ("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4)] {
            // The accumulator is the destination, whether or not it is listed as a source.
            for sources in [2, 3] {
                let src = [Operand::Vgpr(2), Operand::Vgpr(4), Operand::Vgpr(20)];
                let code = inst(name, Encoding::Vop2, Operand::Vgpr(20), &src[..sources]);
                for (x, is) in words(&mut bench, &code, &mut random) {
                    assert_eq!(is, dot(&x, bits, BOTH).rem_euclid(1 << 32), "{name} {x:?}");
                }
            }
        }
    }
}

#[test]
fn products_of_halves_take_the_halves_that_op_sel_picks() {
    let mut random = Random(5);
    let src = [Operand::Vgpr(2), Operand::Vgpr(4), Operand::Vgpr(20)];
    for mut bench in Bench::all() {
        for (name, signed) in [("v_dot2_i32_i16", true), ("v_dot2_u32_u16", false)] {
            for (op_sel, op_sel_hi, clamp) in [(0, 7, false), (1, 7, false), (2, 4, false), (3, 5, true), (0, 7, true)]
            {
                let mut code = inst(name, Encoding::Vop3p, Operand::Vgpr(20), &src);
                (code.op_sel, code.op_sel_hi, code.clamp) = (op_sel, op_sel_hi, clamp);
                for (x, is) in words(&mut bench, &code, &mut random) {
                    let halves = [x[0], x[1]].map(|x| elements(x, 16, signed));
                    let product = |bits: u8| halves[0][usize::from(bits & 1)] * halves[1][usize::from(bits >> 1 & 1)];
                    let kind = if signed { I32 } else { U32 };
                    let exact = product(op_sel) + product(op_sel_hi) + kind.number(x[2] as u64);
                    let should = if clamp { kind.clamp(exact) } else { exact };
                    assert_eq!(is, should.rem_euclid(1 << 32), "{name} {x:?}");
                }
            }
        }
    }
}
