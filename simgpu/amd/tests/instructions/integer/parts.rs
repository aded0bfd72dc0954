//! Tests of register parts: SDWA's bytes and words of sources and destinations, sign-extended or
//! not.

use super::masks;
use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Arch, Encoding, Operand, Sdwa, Select, Unused};

const SELECTS: [Select; 7] = [
    Select::Byte(0),
    Select::Byte(1),
    Select::Byte(2),
    Select::Byte(3),
    Select::Word(0),
    Select::Word(1),
    Select::Dword,
];

/// Returns the bytes that a selection covers.
fn span(select: Select) -> std::ops::Range<usize> {
    match select {
        Select::Byte(n) => usize::from(n)..usize::from(n) + 1,
        Select::Word(n) => 2 * usize::from(n)..2 * usize::from(n) + 2,
        Select::Dword => 0..4,
    }
}

/// Returns a part of a word, extended to 32 bits.
fn part(word: u32, select: Select, signed: bool) -> u32 {
    let chosen = &word.to_le_bytes()[span(select)];
    let negative = signed && chosen.last().is_some_and(|&top| top >= 0x80);
    let mut bytes = [if negative { 0xff } else { 0 }; 4];
    bytes[..chosen.len()].copy_from_slice(chosen);
    u32::from_le_bytes(bytes)
}

/// Returns a register after a part was written.
fn placed(result: u32, old: u32, select: Select, unused: Unused) -> u32 {
    let (span, result) = (span(select), result.to_le_bytes());
    let mut bytes = match unused {
        Unused::Preserve => old.to_le_bytes(),
        Unused::Pad | Unused::Sext => [0; 4],
    };
    if unused == Unused::Sext && result[span.len() - 1] >= 0x80 {
        bytes[span.end..].fill(0xff);
    }
    bytes[span.clone()].copy_from_slice(&result[..span.len()]);
    u32::from_le_bytes(bytes)
}

type Operation = (&'static str, fn(u32, u32) -> u32);

const OPERATIONS: [Operation; 6] = [
    ("v_add_nc_u32", |a, b| (u64::from(a) + u64::from(b)) as u32),
    ("v_max_i32", |a, b| std::cmp::max(a as i32, b as i32) as u32),
    ("v_and_b32", |a, b| a & b),
    ("v_mul_u32_u24", |a, b| (u64::from(a % (1 << 24)) * u64::from(b % (1 << 24))) as u32),
    ("v_add_nc_u16", |a, b| (a % 65536 + b % 65536) % 65536),
    ("v_min_i16", |a, b| u32::from(std::cmp::min(a as i16, b as i16) as u16)),
];

#[test]
fn parts_are_read_and_written_alone() {
    let mut random = Random(7);
    for arch in [Arch::Gfx90a, Arch::Gfx942] {
        for vector_unit in [isobit_simgpu_core::vector::has_vector_unit(), false] {
            let mut bench = Bench::new(arch, vector_unit);
            for (name, operation) in OPERATIONS {
                for trial in 0..200 {
                    bench.fill(&mut random);
                    bench.wave.set_exec(masks(&mut random)[trial % 6]);
                    let selects = [0; 3].map(|_| random.pick(&SELECTS));
                    let signed = [0; 2].map(|_| random.next() & 1 == 1);
                    let unused = random.pick(&[Unused::Pad, Unused::Sext, Unused::Preserve]);
                    let dst = random.pick(&[2, 4, 20]);
                    let src = [Operand::Vgpr(2), Operand::Vgpr(4)];
                    let mut code = inst(name, Encoding::Vop2, Operand::Vgpr(dst), &src);
                    code.sdwa = Some(Sdwa {
                        dst: Some((selects[2], unused)),
                        src: [(selects[0], signed[0]), (selects[1], signed[1])],
                    });
                    let before: Vec<_> = (0..64).map(|lane| [2, 4, dst].map(|v| bench.word(v, lane))).collect();
                    bench.run(&code);
                    for (lane, words) in before.into_iter().enumerate() {
                        let old = words[2];
                        let [a, b] = [0, 1].map(|at| part(words[at], selects[at], signed[at]));
                        let active = bench.wave.exec() >> lane & 1 == 1;
                        let should = if active { placed(operation(a, b), old, selects[2], unused) } else { old };
                        assert_eq!(bench.word(dst, lane), should, "{name} {:?} lane {lane}", code.sdwa);
                    }
                }
            }
        }
    }
}

#[test]
fn comparisons_read_parts() {
    let mut random = Random(8);
    let mut bench = Bench::new(Arch::Gfx90a, false);
    for _ in 0..200 {
        bench.fill(&mut random);
        let selects = [0; 2].map(|_| random.pick(&SELECTS));
        let mut code = inst("v_cmp_gt_i32", Encoding::Vopc, Operand::Sgpr(40), &[Operand::Vgpr(2), Operand::Vgpr(4)]);
        code.sdwa = Some(Sdwa { dst: None, src: selects.map(|s| (s, true)) });
        bench.run(&code);
        let flags = bench.wave.pair(40);
        for lane in 0..64 {
            let [a, b] = [(2, 0), (4, 1)].map(|(v, at)| part(bench.word(v, lane), selects[at], true) as i32);
            assert_eq!(flags >> lane & 1 == 1, a > b, "{selects:?} lane {lane}");
        }
    }
}
