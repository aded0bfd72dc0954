//! Dense products of GFX9.

use super::fill;
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Encoding, Inst, Mai, Operand};

/// The type of an instruction's elements.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Type {
    F64,
    F32,
    I8,
}
use Type::{F32, F64, I8};

/// An instruction, and the places of elements in the formulas of AMD's calculator.
struct Case {
    name: &'static str,
    of: Type,
    side: usize,
    depth: usize,
    blocks: usize,
    /// The lane of element `A[i][k].block`, and its byte in the lane's registers; `B[k][j].block`
    /// is in the same place for `j = i`.
    factor: fn(i: usize, k: usize, block: usize) -> (usize, usize),
    /// The lane of element `D[i][j].block`, and its number among the lane's elements.
    result: fn(i: usize, j: usize, block: usize) -> (usize, usize),
}

fn result32(i: usize, j: usize, block: usize) -> (usize, usize) {
    ((32 * (i / 4)) % 64 + j, 16 * block + 4 * (i / 8) + i % 4)
}

fn result16(i: usize, j: usize, block: usize) -> (usize, usize) {
    (16 * (i / 4) + j, 4 * block + i % 4)
}

fn result4(i: usize, j: usize, block: usize) -> (usize, usize) {
    (4 * block + j, i)
}

/// The dimensions are those of the name: rows and columns, the common dimension, and blocks.
macro_rules! case {
    ($name:literal, $of:ident, $side:literal, $depth:literal, $blocks:literal, $factor:expr, $result:expr) => {
        Case { name: $name, of: $of, side: $side, depth: $depth, blocks: $blocks, factor: $factor, result: $result }
    };
}

const CASES: &[Case] = &[
    case!("v_mfma_f64_16x16x4_f64", F64, 16, 4, 1, |i, k, _| (16 * k + i, 0), |i, j, _| (16 * (i % 4) + j, i / 4)),
    case!("v_mfma_f64_4x4x4_4b_f64", F64, 4, 4, 4, |i, k, block| (4 * block + 16 * k + i, 0), |i, j, block| (
        16 * (i % 4) + 4 * block + j,
        0
    )),
    case!("v_mfma_f32_32x32x1_2b_f32", F32, 32, 1, 2, |i, _, block| (32 * block + i, 0), result32),
    case!("v_mfma_f32_16x16x1_4b_f32", F32, 16, 1, 4, |i, _, block| (16 * block + i, 0), result16),
    case!("v_mfma_f32_4x4x1_16b_f32", F32, 4, 1, 16, |i, _, block| (4 * block + i, 0), result4),
    case!("v_mfma_f32_32x32x2_f32", F32, 32, 2, 1, |i, k, _| (32 * k + i, 0), result32),
    case!("v_mfma_f32_16x16x4_f32", F32, 16, 4, 1, |i, k, _| (16 * k + i, 0), result16),
    case!("v_mfma_i32_32x32x4_2b_i8", I8, 32, 4, 2, |i, k, block| (32 * block + i, k), result32),
    case!("v_mfma_i32_16x16x4_4b_i8", I8, 16, 4, 4, |i, k, block| (16 * block + i, k), result16),
    case!("v_mfma_i32_4x4x4_16b_i8", I8, 4, 4, 16, |i, k, block| (4 * block + i, k), result4),
    case!("v_mfma_i32_32x32x8_i8", I8, 32, 8, 1, |i, k, _| (32 * (k / 4) + i, k % 4), result32),
    case!("v_mfma_i32_16x16x16_i8", I8, 16, 16, 1, |i, k, _| (16 * (k / 4) + i, k % 4), result16),
    case!("v_mfma_i32_32x32x16_i8", I8, 32, 16, 1, |i, k, _| (32 * (k / 8) + i, k % 8), result32),
    case!("v_mfma_i32_16x16x32_i8", I8, 16, 32, 1, |i, k, _| (16 * (k / 8) + i, k % 8), result16),
];

/// Returns a word that is, as an f32 and as the high half of an f64: zero, subnormal, infinite, a
/// NaN, or one of few numbers whose products cancel.
fn special(random: &mut Random) -> u32 {
    let sign = (random.next() as u32) << 31;
    let bits = random.next();
    sign | match bits % 16 {
        0 | 1 => 0,
        2 => (bits >> 32) as u32 & 0x7_ffff,
        3 if bits & 0x300 == 0 => random.pick(&[0x7f80_0000, 0x7ff0_0000, 0x7fc0_0000, 0x7ff8_0000]),
        4..=9 => 0x3f80_0000 | (bits >> 32) as u32 & 3,
        10 => 0x0080_0000 + ((bits >> 32) as u32 & 0xffff),
        _ => (0x3000_0000 + ((bits >> 32) as u32 & 0x1fff_ffff)).min(0x7f7f_ffff),
    }
}

fn uniform(random: &mut Random) -> u32 {
    random.next() as u32
}

/// The registers of an instruction's operands.
#[derive(Debug, Clone, Copy)]
struct Places {
    d: u16,
    a: u16,
    b: u16,
    c: u16,
}

impl Bench {
    /// Returns `bytes` bytes of a lane from byte `at` of its registers from `register` on.
    fn bits(&self, register: u16, lane: usize, at: usize, bytes: usize) -> u64 {
        (0..bytes).fold(0, |bits, i| {
            let byte = self.word(register + ((at + i) / 4) as u16, lane) >> (8 * ((at + i) % 4)) & 0xff;
            bits | u64::from(byte) << (8 * i)
        })
    }
}

impl Case {
    fn code(&self, at: Places) -> Inst {
        let src = [at.a, at.b, at.c].map(Operand::Vgpr);
        inst(self.name, Encoding::Vop3p, Operand::Vgpr(at.d), &src)
    }

    /// Returns the sum of an element's products and the addend, as bits.
    fn element(&self, bench: &Bench, at: Places, [i, j, block]: [usize; 3], addend: u64) -> u64 {
        let factor = |register, i, k, bytes| {
            let (lane, byte) = (self.factor)(i, k, block);
            bench.bits(register, lane, byte, bytes)
        };
        let products = |bytes| (0..self.depth).map(move |k| (factor(at.a, i, k, bytes), factor(at.b, j, k, bytes)));
        match self.of {
            F64 => products(8)
                .fold(f64::from_bits(addend), |sum, (a, b)| f64::from_bits(a).mul_add(f64::from_bits(b), sum))
                .to_bits(),
            F32 => {
                let single = |bits: u64| f32::from_bits(bits as u32);
                products(4).fold(single(addend), |sum, (a, b)| single(a).mul_add(single(b), sum)).to_bits().into()
            }
            I8 => {
                let exact = products(1).map(|(a, b)| i64::from(a as i8) * i64::from(b as i8)).sum::<i64>();
                (exact + i64::from(addend as u32 as i32)) as u32 as u64
            }
        }
    }

    /// Whether two results are the same, or both NaN.
    fn equal(&self, x: u64, y: u64) -> bool {
        let nan = |bits: u64| match self.of {
            F64 => f64::from_bits(bits).is_nan(),
            F32 => f32::from_bits(bits as u32).is_nan(),
            I8 => false,
        };
        x == y || nan(x) && nan(y)
    }

    /// Returns all elements of the result that the registers should have; `addend` is that of
    /// all elements if it is not in registers.
    fn expected(&self, bench: &Bench, at: Places, addend: Option<u64>) -> Vec<((usize, usize), u64)> {
        let bytes = if self.of == F64 { 8 } else { 4 };
        let mut all = Vec::new();
        for block in 0..self.blocks {
            for i in 0..self.side {
                for j in 0..self.side {
                    let (lane, number) = (self.result)(i, j, block);
                    let addend = addend.unwrap_or_else(|| bench.bits(at.c, lane, bytes * number, bytes));
                    all.push(((lane, number), self.element(bench, at, [i, j, block], addend)));
                }
            }
        }
        all
    }

    #[track_caller]
    fn check(&self, bench: &Bench, at: Places, expected: &[((usize, usize), u64)]) {
        let bytes = if self.of == F64 { 8 } else { 4 };
        for ((lane, number), expected) in expected {
            let is = bench.bits(at.d, *lane, bytes * number, bytes);
            assert!(
                self.equal(is, *expected),
                "{} on {}, vector unit {}, {at:?}: element {number} of lane {lane} is {is:#x} instead of {expected:#x}",
                self.name,
                bench.arch.name(),
                bench.vector_unit
            );
        }
    }
}

fn benches() -> impl Iterator<Item = Bench> {
    Bench::all().filter(|bench| bench.arch.is_gfx9())
}

#[test]
fn elements_are_the_sums_of_the_layouts_that_amd_publishes() {
    // Results over their addend, elsewhere, over their factors, and in every mix of both kinds of
    // registers.
    const PLACES: [Places; 5] = [
        Places { d: 0, a: 40, b: 44, c: 0 },
        Places { d: 256, a: 40, b: 44, c: 300 },
        Places { d: 40, a: 40, b: 44, c: 80 },
        Places { d: 480, a: 256 + 40, b: 256 + 44, c: 480 },
        Places { d: 4, a: 256 + 254, b: 254, c: 8 },
    ];
    let mut random = Random(9);
    for mut bench in benches() {
        for case in CASES {
            for at in PLACES {
                for values in [special, uniform] {
                    fill(&mut bench, &mut random, values);
                    let expected = case.expected(&bench, at, None);
                    bench.run(&case.code(at));
                    case.check(&bench, at, &expected);
                }
            }
        }
    }
}

#[test]
fn a_constant_is_the_addend_of_every_element() {
    let mut random = Random(10);
    let at = Places { d: 0, a: 40, b: 44, c: 0 };
    // The codes of 0, -3, 1 and -4, and what they are as each type.
    let constants = [(128, 0, 0, 0), (195, -3i64, -3, -3), (242, 0x3ff0 << 48, 0x3f80_0000, 0x3f80_0000)];
    for mut bench in benches() {
        for case in CASES {
            for (code, double, single, integer) in constants {
                fill(&mut bench, &mut random, special);
                let addend = match case.of {
                    F64 => double as u64,
                    F32 => (single as u32).into(),
                    I8 => (integer as u32).into(),
                };
                let expected = case.expected(&bench, at, Some(addend));
                let mut inst = case.code(at);
                inst.src[2] = Operand::Inline(code);
                bench.run(&inst);
                case.check(&bench, at, &expected);
            }
        }
    }
}

#[test]
fn lanes_that_are_not_active_take_part() {
    let mut random = Random(11);
    let at = Places { d: 0, a: 40, b: 44, c: 0 };
    for mut bench in benches() {
        for case in CASES {
            for exec in [0, 1, 0x5555_0000_ffff_1234] {
                fill(&mut bench, &mut random, uniform);
                bench.wave.set_exec(exec);
                let expected = case.expected(&bench, at, None);
                bench.run(&case.code(at));
                case.check(&bench, at, &expected);
            }
        }
    }
}

#[test]
fn a_sum_is_rounded_after_each_product_in_ascending_order() {
    let at = Places { d: 0, a: 40, b: 44, c: 0 };
    let above_one = 1.0 + f64::EPSILON;
    let large = 9_007_199_254_740_992.0;
    // Rows of A, columns of B, addends, and sums.
    let sums = [
        // Each 1 is half a unit of the sum, and is lost.
        ([1.0; 4], [1.0; 4], large, large),
        // The small products come first, and are kept.
        ([1.0, 1.0, large, 0.0], [1.0; 4], 0.0, large + 2.0),
        // A product is not rounded before it is added.
        ([above_one, 0.0, 0.0, 0.0], [above_one; 4], -(above_one * above_one), f64::EPSILON * f64::EPSILON),
        // The first sum overflows, and the second product is finite.
        ([1e300, 1e300, 1.0, 0.0], [1e300, -1e300, 1.0, 0.0], 0.0, f64::INFINITY),
        // Subnormals are kept, and what cancels is +0.
        ([5e-324, 0.0, 0.0, 0.0], [1.0; 4], 5e-324, 1e-323),
        ([5e-324, -5e-324, -0.0, -0.0], [1.0; 4], -0.0, 0.0),
        ([-0.0; 4], [1.0; 4], -0.0, -0.0),
    ];
    for mut bench in benches() {
        for (row, column, addend, sum) in sums {
            for lane in 0..64 {
                bench.set_pair(at.a, lane, row[lane / 16].to_bits());
                bench.set_pair(at.b, lane, column[lane / 16].to_bits());
                (0..4).for_each(|element| bench.set_pair(at.c + 2 * element, lane, f64::to_bits(addend)));
            }
            bench.run(&CASES[0].code(at));
            for (lane, element) in (0..64).flat_map(|lane| (0..4).map(move |element| (lane, element))) {
                let is = f64::from_bits(bench.pair(at.d + 2 * element, lane));
                assert_eq!(is.to_bits(), f64::to_bits(sum), "{row:?} {column:?} {addend}: {is} instead of {sum}");
            }
        }
    }
}

#[test]
fn patterns_of_blocks_are_refused() {
    let at = Places { d: 0, a: 40, b: 44, c: 0 };
    for mut bench in benches() {
        for case in CASES {
            for (mai, what) in [
                (Mai { cbsz: 1, ..Mai::default() }, "cbsz"),
                (Mai { abid: 3, ..Mai::default() }, "abid"),
                (Mai { blgp: 1, ..Mai::default() }, "blgp"),
            ] {
                let error = bench.try_run(&Inst { mai, ..case.code(at) }).expect_err("it is refused").to_string();
                assert!(error.contains(case.name) && error.contains(what), "{error}");
            }
        }
    }
}

#[test]
fn formats_with_unpublished_sums_are_refused() {
    for mut bench in Bench::all() {
        for (name, why) in [
            ("v_mfma_f32_16x16x16_f16", "AMD does not publish"),
            ("v_mfma_f32_32x32x8_bf16", "AMD does not publish"),
            ("v_mfma_f32_16x16x8_xf32", "AMD does not publish"),
            ("v_mfma_f32_16x16x32_fp8_bf8", "AMD does not publish"),
            ("v_smfmac_f32_16x16x32_f16", "sparse"),
            ("v_wmma_f32_16x16x16_f16", "AMD does not publish"),
        ] {
            let code = inst(name, Encoding::Vop3p, Operand::Vgpr(0), &[Operand::Vgpr(40); 3]);
            let error = bench.try_run(&code).expect_err("it is refused").to_string();
            assert!(error.contains(name) && error.contains(why), "{error}");
        }
    }
}
