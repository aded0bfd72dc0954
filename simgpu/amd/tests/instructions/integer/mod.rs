//! Tests of every vector instruction on integers against exact arithmetic. Operands become integers
//! of 128 bits, and the expected result is a formula over them, taken modulo the width of the
//! destination. Operands come from all locations; EXEC is full, empty and partial; the destination
//! may be a source; and both functions of every step run.

mod arith;
mod bits;
mod compare;
mod dot;
mod half;
mod packed;
mod parts;
mod product;
mod sad;

use crate::bench::{Bench, Random, inst};
use isobit_simgpu_amd::exec::wave::Wave;
use isobit_simgpu_amd::isa::{Encoding, Inst, Operand, sreg};

/// The type of an operand or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    /// Two 16-bit numbers, passed as one of 32 bits.
    Pair,
    /// One bit per lane.
    Carry,
}

use Type::{Carry, I16, I32, I64, Pair, U16, U32, U64};

impl Type {
    fn bits(self) -> u32 {
        match self {
            U16 | I16 => 16,
            U32 | I32 | Pair => 32,
            U64 | I64 => 64,
            Carry => 1,
        }
    }

    /// Returns the number that the bits represent.
    fn number(self, bits: u64) -> i128 {
        let bits = i128::from(bits).rem_euclid(1 << self.bits());
        let negative = matches!(self, I16 | I32 | I64) && bits >= 1 << (self.bits() - 1);
        if negative { bits - (1 << self.bits()) } else { bits }
    }

    /// Returns the nearest number of the type.
    fn clamp(self, x: i128) -> i128 {
        match self {
            I16 | I32 | I64 => x.clamp(-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1),
            _ => x.clamp(0, (1 << self.bits()) - 1),
        }
    }
}

/// An instruction and its expected result.
pub struct Case {
    name: &'static str,
    src: &'static [Type],
    dst: Option<Type>,
    result: fn(&[i128]) -> i128,
    flag: Option<fn(&[i128]) -> bool>,
    clamp: bool,
    encoding: Encoding,
}

impl Case {
    /// Creates a case of an instruction with a result.
    pub const fn new(name: &'static str, src: &'static [Type], dst: Type, result: fn(&[i128]) -> i128) -> Self {
        Self { name, src, dst: Some(dst), result, flag: None, clamp: false, encoding: Encoding::Vop3 }
    }

    /// Adds a flag.
    pub const fn flag(mut self, flag: fn(&[i128]) -> bool) -> Self {
        self.flag = Some(flag);
        self
    }

    /// Makes the case clamped: the result is the nearest number of its type instead of wrapping.
    pub const fn clamped(mut self) -> Self {
        self.clamp = true;
        self
    }

    /// Makes the encoding VOP3P.
    pub const fn packed(mut self) -> Self {
        self.encoding = Encoding::Vop3p;
        self
    }

    /// Creates a comparison.
    pub const fn compare(name: &'static str, src: &'static [Type], flag: fn(&[i128]) -> bool) -> Self {
        Self { name, src, dst: None, result: |_| 0, flag: Some(flag), clamp: false, encoding: Encoding::Vop3 }
    }
}

/// The destination of results that replace no operand.
const DST: u16 = 20;
/// The destination of flags that replace no operand.
const FLAG: u8 = 40;

/// Returns the value of an operand in a lane, read from the registers as the ISA defines it.
fn operand_bits(wave: &Wave, operand: Operand, kind: Type, high: bool, lane: usize) -> u64 {
    let wide = kind.bits() == 64;
    let word = match operand {
        Operand::Vgpr(v) => {
            let words = [v, v + 1].map(|v| u64::from(wave.v[usize::from(v)].0[lane]));
            words[0] | if wide { words[1] << 32 } else { 0 }
        }
        Operand::Sgpr(at) if kind == Carry => {
            let both = u64::from(wave.s[usize::from(at)]) | u64::from(wave.s[usize::from(at) + 1]) << 32;
            return both >> lane & 1;
        }
        Operand::Sgpr(at) => {
            let words = [at, at + 1].map(|at| u64::from(wave.s[usize::from(at)]));
            words[0] | if wide { words[1] << 32 } else { 0 }
        }
        // Integers, sign-extended to any width.
        Operand::Inline(code @ 128..=192) => u64::from(code) - 128,
        Operand::Inline(code @ 193..=208) => (192 - i64::from(code)) as u64,
        // 1.0 as a float of the operand's width.
        Operand::Inline(_) => match kind.bits() {
            16 => 0x3c00,
            32 if kind == Pair => 0x3c00,
            32 => 0x3f80_0000,
            _ => 0x3ff0_0000_0000_0000,
        },
        Operand::Literal(word) if kind == I64 => i64::from(word as i32) as u64,
        Operand::Literal(word) => word.into(),
        other => panic!("{other:?}"),
    };
    if high { word >> 16 } else { word }
}

/// Returns a location for an operand, most often a vector register.
fn place(random: &mut Random, kind: Type, at: usize) -> Operand {
    let at = at as u8;
    if kind == Carry {
        return Operand::Sgpr(random.pick(&[30, sreg::VCC_LO]));
    }
    match random.next() % 8 {
        0 => Operand::Sgpr(10 + 2 * at),
        1 => Operand::Inline(random.pick(&[128, 129, 130, 143, 144, 159, 160, 161, 191, 192, 193, 194, 208])),
        2 => Operand::Inline(242),
        3 => Operand::Literal(random.word()),
        _ => Operand::Vgpr(2 + 2 * u16::from(at)),
    }
}

/// Returns useful masks of active lanes.
pub fn masks(random: &mut Random) -> [u64; 6] {
    let some = random.next();
    [u64::MAX, 0, 1, 1 << 31 | 1 << 63, some, !some & random.next()]
}

/// Whether an instruction of GFX9 with a 16-bit result keeps the high half of its register. This is
/// the case for those that have `op_sel` in GFX9's manual but not in GFX8's.
fn keeps(name: &str) -> bool {
    matches!(
        name,
        "v_mad_u16"
            | "v_mad_i16"
            | "v_add_nc_i16"
            | "v_sub_nc_i16"
            | "v_min3_i16"
            | "v_min3_u16"
            | "v_max3_i16"
            | "v_max3_u16"
            | "v_med3_i16"
            | "v_med3_u16"
    )
}

/// Runs each case many times on all targets, with both functions.
#[track_caller]
pub fn check(cases: &[Case]) {
    let mut random = Random(1);
    for case in cases {
        for mut bench in Bench::all() {
            for mask in masks(&mut random) {
                for trial in 0..6 {
                    one(&mut bench, case, mask, trial, &mut random);
                }
            }
        }
    }
}

#[track_caller]
fn one(bench: &mut Bench, case: &Case, mask: u64, trial: usize, random: &mut Random) {
    bench.fill(random);
    bench.wave.set_exec(mask & bench.wave.live);
    let src: Vec<Operand> = match trial {
        0 => (0..case.src.len() as u16)
            .map(|at| if case.src[usize::from(at)] == Carry { Operand::Sgpr(30) } else { Operand::Vgpr(2 + 2 * at) })
            .collect(),
        _ => case.src.iter().enumerate().map(|(at, &kind)| place(random, kind, at)).collect(),
    };
    // The destination may be a source, or start in the middle of one.
    let dst = match (trial, src.iter().find(|s| matches!(s, Operand::Vgpr(_)))) {
        (2, Some(&Operand::Vgpr(v))) => v,
        (3, Some(&Operand::Vgpr(v))) => v + 1,
        _ => DST,
    };
    let flag_at = if trial == 4 { 30 } else { FLAG };
    let mut code = inst(case.name, case.encoding, Operand::Vgpr(dst), &src);
    code.clamp = case.clamp;
    (code.dst, code.sdst) = match (case.dst, case.flag) {
        (None, _) => (Operand::Sgpr(flag_at), Operand::None),
        (_, Some(_)) => (Operand::Vgpr(dst), Operand::Sgpr(flag_at)),
        _ => (Operand::Vgpr(dst), Operand::None),
    };
    let halves = |kind: Type| kind.bits() == 16 && case.encoding == Encoding::Vop3;
    if trial >= 3 {
        for (at, (&kind, operand)) in case.src.iter().zip(&src).enumerate() {
            if halves(kind) && matches!(operand, Operand::Vgpr(_) | Operand::Sgpr(_)) {
                code.op_sel |= (random.next() as u8 & 1) << at;
            }
        }
        if case.dst.is_some_and(halves) {
            code.op_sel |= random.next() as u8 & 8;
        }
    }
    let (v, s) = expected(bench, case, &code);
    bench.run(&code);
    let context = || {
        format!(
            "{} clamp {} on {} avx2 {}: {src:?} to v{dst}, {code:?}",
            case.name,
            case.clamp,
            bench.arch.name(),
            bench.vector_unit
        )
    };
    for (row, (is, should)) in bench.wave.v.iter().zip(&v).enumerate() {
        assert_eq!(&is.0[..bench.wave.width], &should[..bench.wave.width], "v{row}: {}", context());
    }
    assert_eq!(bench.wave.s, s, "{}", context());
}

/// Returns the expected vector and scalar registers after an instruction.
fn expected(bench: &Bench, case: &Case, code: &Inst) -> (Vec<[u32; 64]>, [u32; 128]) {
    let wave = &bench.wave;
    let mut v: Vec<[u32; 64]> = wave.v.iter().map(|row| row.0).collect();
    let mut s = wave.s;
    let mut flags = 0u64;
    for lane in (0..wave.width).filter(|&lane| wave.exec() >> lane & 1 == 1) {
        let values: Vec<i128> = (case.src.iter().zip(code.src).enumerate())
            .map(|(at, (&kind, operand))| {
                let high = code.op_sel >> at & 1 == 1;
                kind.number(operand_bits(wave, operand, kind, high, lane))
            })
            .collect();
        if let Some(flag) = case.flag {
            flags |= u64::from(flag(&values)) << lane;
        }
        let (Some(kind), Operand::Vgpr(dst)) = (case.dst, code.dst) else { continue };
        let exact = (case.result)(&values);
        let number = if case.clamp { kind.clamp(exact) } else { exact };
        let bits = number.rem_euclid(1 << kind.bits()) as u64;
        let dst = usize::from(dst);
        let old = v[dst][lane];
        v[dst][lane] = match (kind.bits(), code.op_sel & 8 != 0) {
            (16, true) => (bits as u32) << 16 | old & 0xffff,
            (16, false) if !bench.arch.is_gfx9() || keeps(case.name) => bits as u32 | old & 0xffff_0000,
            _ => bits as u32,
        };
        if kind.bits() == 64 {
            v[dst + 1][lane] = (bits >> 32) as u32;
        }
    }
    let flag_at = match (code.dst, code.sdst) {
        (Operand::Sgpr(at), _) | (_, Operand::Sgpr(at)) => usize::from(at),
        _ => return (v, s),
    };
    s[flag_at] = flags as u32;
    if wave.width == 64 {
        s[flag_at + 1] = (flags >> 32) as u32;
    }
    (v, s)
}

/// The expectation is wrong only if a lane's low bit is set in both operands: the check must
/// examine every lane.
#[test]
#[should_panic(expected = "v_and_b32")]
fn a_wrong_result_is_found() {
    check(&[Case::new(
        "v_and_b32",
        &[U32, U32],
        U32,
        |x| if x[0] % 2 == 1 && x[1] % 2 == 1 { 0 } else { x[0] & x[1] },
    )]);
}

#[test]
#[should_panic(expected = "v_add_co_u32")]
fn a_wrong_flag_is_found() {
    check(&[Case::new("v_add_co_u32", &[U32, U32], U32, |x| x[0] + x[1]).flag(|x| x[0] + x[1] > 1 << 32)]);
}
