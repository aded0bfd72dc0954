//! Products of integers of GFX11.

use super::fill;
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::exec::Flow;
use isobit_simgpu_amd::isa::{Arch, Encoding, Operand};

const NAMES: [(&str, u32); 2] = [("v_wmma_i32_16x16x16_iu8", 8), ("v_wmma_i32_16x16x16_iu4", 4)];

/// The registers of A, B, C and D.
const PLACES: [[u16; 4]; 3] = [[40, 44, 0, 0], [40, 44, 80, 40], [0, 248, 16, 240]];

fn benches() -> impl Iterator<Item = Bench> {
    Bench::all().filter(|bench| bench.arch == Arch::Gfx1100)
}

/// Fills the registers; lanes 16 to 31 of the factors repeat the others.
fn prepare(bench: &mut Bench, random: &mut Random, [a, b, ..]: [u16; 4]) {
    fill(bench, random, |random| random.word());
    for register in (a..a + 4).chain(b..b + 4) {
        let (low, high) = bench.wave.v[usize::from(register)].0.split_at_mut(16);
        high[..16].copy_from_slice(low);
    }
}

/// Returns element `k` of a row or column, from register `k / (32 / bits)` of its lane.
fn element(bench: &Bench, register: u16, lane: usize, k: u32, bits: u32, signed: bool) -> i64 {
    let word = bench.word(register + (k * bits / 32) as u16, lane);
    let number = i64::from(word >> (k * bits % 32) & ((1 << bits) - 1));
    if signed && number >> (bits - 1) == 1 { number - (1 << bits) } else { number }
}

#[test]
fn elements_are_the_sums_of_the_layouts_that_amd_publishes() {
    let mut random = Random(12);
    for mut bench in benches() {
        for (name, bits) in NAMES {
            for (at, neg, clamp) in (0..24).map(|i| (PLACES[i / 8], (i % 4) as u8, i / 4 % 2 == 1)).cycle().take(24 * 8)
            {
                prepare(&mut bench, &mut random, at);
                let [a, b, c, d] = at;
                let mut expected = Vec::new();
                for i in 0..16 {
                    for j in 0..16 {
                        // C or D[i][j]: register floor(i / 2), lane (16 i) % 32 + j.
                        let (register, lane) = ((i / 2) as u16, 16 * i % 32 + j);
                        let products = (0..16).map(|k| {
                            element(&bench, a, i, k, bits, neg & 1 != 0) * element(&bench, b, j, k, bits, neg & 2 != 0)
                        });
                        let exact = products.sum::<i64>() + i64::from(bench.word(c + register, lane) as i32);
                        let limits = (i64::from(i32::MIN), i64::from(i32::MAX));
                        let sum = if clamp { exact.clamp(limits.0, limits.1) } else { exact };
                        expected.push((d + register, lane, sum as u32));
                    }
                }
                let src = [a, b, c].map(Operand::Vgpr);
                let mut code = inst(name, Encoding::Vop3p, Operand::Vgpr(d), &src);
                (code.neg, code.clamp) = (neg, clamp);
                bench.run(&code);
                for (register, lane, sum) in expected {
                    let is = bench.word(register, lane);
                    assert_eq!(is, sum, "{name} {at:?} neg {neg} clamp {clamp}: v{register} of lane {lane}");
                }
            }
        }
    }
}

#[test]
fn halves_of_the_wave_that_differ_are_a_fault() {
    let mut random = Random(13);
    for mut bench in benches() {
        for (register, which) in [(41, "A"), (45, "B")] {
            prepare(&mut bench, &mut random, PLACES[0]);
            bench.wave.v[register].0[21] ^= 1;
            let src = [40, 44, 0].map(Operand::Vgpr);
            let code = inst(NAMES[0].0, Encoding::Vop3p, Operand::Vgpr(0), &src);
            assert_eq!(bench.try_run(&code), Ok(Flow::Fault));
            let why = bench.fault.take().expect("a reason");
            assert!(why.contains(&format!("different elements of {which} in lanes 5 and 21")), "{why}");
        }
    }
}

#[test]
fn other_modifiers_are_refused_and_constants_are_addends() {
    for mut bench in benches() {
        let src = [Operand::Vgpr(40), Operand::Vgpr(44), Operand::Inline(195)];
        let code = inst(NAMES[0].0, Encoding::Vop3p, Operand::Vgpr(0), &src);
        bench.run(&code);
        assert!((0..8).all(|register| (0..32).all(|lane| bench.word(register, lane) == -3i32 as u32)));
        for (neg, neg_hi) in [(4, 0), (0, 1)] {
            let mut code = code.clone();
            (code.neg, code.neg_hi) = (neg, neg_hi);
            let error = bench.try_run(&code).expect_err("it is refused").to_string();
            assert!(error.contains("neg_hi"), "{error}");
        }
    }
}
