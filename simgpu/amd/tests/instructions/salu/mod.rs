//! Tests of every scalar instruction against exact arithmetic: operands become integers of 128
//! bits, and the expected result is a formula over them, taken modulo the width of the destination.

mod arith;
mod bits;
mod constant;
mod exec;

use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::isa::{Arch, Encoding, Operand, sreg};
use isobit_simgpu_core::vector::has_vector_unit;

/// The type of an operand or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    U32,
    I32,
    U64,
    I64,
}

use Type::{I32, I64, U32, U64};

impl Type {
    fn bits(self) -> u32 {
        if matches!(self, U32 | I32) { 32 } else { 64 }
    }

    fn number(self, bits: u64) -> i128 {
        let bits = i128::from(bits) % (1 << self.bits());
        let negative = matches!(self, I32 | I64) && bits >= 1 << (self.bits() - 1);
        if negative { bits - (1 << self.bits()) } else { bits }
    }
}

/// The operands, and the previous SCC and destination, unsigned.
pub struct Given {
    x: Vec<i128>,
    scc: bool,
    old: i128,
}

/// The value of SCC after the instruction.
pub enum After {
    Same,
    NotZero,
    Is(fn(&Given) -> bool),
}

/// An instruction and its expected result.
pub struct Case {
    name: &'static str,
    src: &'static [Type],
    dst: Option<Type>,
    result: fn(&Given) -> i128,
    scc: After,
}

impl Case {
    pub const fn new(
        name: &'static str,
        src: &'static [Type],
        dst: Type,
        result: fn(&Given) -> i128,
        scc: After,
    ) -> Self {
        Self { name, src, dst: Some(dst), result, scc }
    }

    pub const fn compare(name: &'static str, src: &'static [Type], scc: fn(&Given) -> bool) -> Self {
        Self { name, src, dst: None, result: |_| 0, scc: After::Is(scc) }
    }
}

/// Returns the bits of an operand, read from the registers as the ISA defines it.
fn operand_bits(s: &[u32; 128], operand: Operand, kind: Type) -> u64 {
    match operand {
        Operand::Sgpr(sreg::NULL) => 0,
        Operand::Sgpr(at) => {
            let [low, high] = [at, at + 1].map(|at| u64::from(s[usize::from(at)]));
            low | if kind.bits() == 64 { high << 32 } else { 0 }
        }
        Operand::Inline(code @ 128..=192) => u64::from(code) - 128,
        Operand::Inline(code @ 193..=208) => (192 - i64::from(code)) as u64,
        // -4.0 as a float of the operand's width.
        Operand::Inline(_) => {
            if kind.bits() == 32 {
                0xc080_0000
            } else {
                0xc010_0000_0000_0000
            }
        }
        Operand::Literal(word) if kind == I64 => i64::from(word as i32) as u64,
        Operand::Literal(word) => word.into(),
        other => panic!("{other:?}"),
    }
}

fn place(random: &mut Random, at: usize) -> Operand {
    match random.next() % 8 {
        0 => Operand::Inline(random.pick(&[128, 129, 159, 160, 161, 191, 192, 193, 208])),
        1 => Operand::Inline(247),
        2 => Operand::Literal(random.word()),
        3 => Operand::Sgpr(sreg::VCC_LO),
        4 => Operand::Sgpr(sreg::EXEC_LO),
        _ => Operand::Sgpr(10 + 2 * at as u8),
    }
}

/// Returns a wave of each width; scalar instructions have only one function.
pub fn waves() -> impl Iterator<Item = Bench> {
    Arch::ALL.into_iter().map(|arch| Bench::new(arch, has_vector_unit()))
}

/// Runs each case many times.
#[track_caller]
pub fn check(cases: &[Case]) {
    let mut random = Random(11);
    for case in cases {
        for mut bench in waves() {
            for trial in 0..120 {
                bench.fill(&mut random);
                let exec = random.next();
                bench.wave.set_exec(exec & bench.wave.live);
                let src: Vec<Operand> = (0..case.src.len()).map(|at| place(&mut random, at)).collect();
                // The destination may be a source, VCC, or EXEC, which then changes the active
                // lanes.
                let dst = [40, 10, sreg::VCC_LO, sreg::EXEC_LO][trial % 4];
                one(&mut bench, case, &src, dst);
            }
        }
    }
}

#[track_caller]
fn one(bench: &mut Bench, case: &Case, src: &[Operand], dst: u8) {
    let mut s = bench.wave.s;
    let kind = case.dst.unwrap_or(U32);
    let given = Given {
        x: case.src.iter().zip(src).map(|(&kind, &operand)| kind.number(operand_bits(&s, operand, kind))).collect(),
        scc: bench.wave.scc,
        old: operand_bits(&s, Operand::Sgpr(dst), if kind.bits() == 64 { U64 } else { U32 }).into(),
    };
    let result = (case.result)(&given).rem_euclid(1 << kind.bits()) as u64;
    if case.dst.is_some() {
        s[usize::from(dst)] = result as u32;
        if kind.bits() == 64 {
            s[usize::from(dst) + 1] = (result >> 32) as u32;
        }
    }
    let scc = match case.scc {
        After::Same => given.scc,
        After::NotZero => result != 0,
        After::Is(scc) => scc(&given),
    };
    let to = if case.dst.is_some() { Operand::Sgpr(dst) } else { Operand::None };
    bench.run(&inst(case.name, Encoding::Sop2, to, src));
    assert_eq!(bench.wave.s, s, "{} {:?} {src:?} to {dst}", case.name, given.x);
    assert_eq!(bench.wave.scc, scc, "{} {:?} {src:?}", case.name, given.x);
    for lane in 0..bench.wave.width {
        assert_eq!(bench.wave.active.0[lane] != 0, bench.wave.exec() >> lane & 1 == 1, "{} lane {lane}", case.name);
    }
}
