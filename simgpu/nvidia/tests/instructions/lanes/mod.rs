//! A test harness: runs one instruction, written as text, on a warp with different operands in each
//! lane.

mod exact;
mod random;

pub use exact::{Exact, Value, check_rounded, rounding_of, value_of};
pub use random::{Random, cases};

use isobit_simgpu_core::check::{Describe, Launch, Place as Where, SiteCache};
use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::exec::warp::SITE_CACHES;
use isobit_simgpu_nvidia::exec::{Env, Flow, LANES, Program, Row, Warp, alu};
use isobit_simgpu_nvidia::lower::Lower;
use isobit_simgpu_nvidia::ptx::ast::{Instruction, Kind, Operand, Register, RegisterId, Type};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;

/// An instruction with its registers, lowered both with and without AVX2.
pub struct Op {
    text: String,
    registers: Vec<Register>,
    rows: Vec<u32>,
    /// The destination registers and the source registers; constants are not included.
    destinations: Vec<usize>,
    sources: Vec<usize>,
    programs: Vec<Program>,
    /// The carries before and after the instruction.
    carry: u32,
}

/// The registers that a warp is lowered for, with one or two rows each.
struct Parser {
    registers: Vec<Register>,
    used: Vec<usize>,
}

impl Parser {
    /// Adds a register of a type.
    fn register(&mut self, ty: &str) -> RegisterId {
        let ty = Type::named(ty).unwrap_or_else(|| panic!("{ty} is not a type"));
        let id = self.registers.len();
        self.registers.push(Register { name: format!("%r{id}"), ty });
        self.used.push(id);
        RegisterId(id as u32)
    }

    /// Parses an operand: a type for a register of it, `!pred`, `pred|pred`, `_`, `#5` for a
    /// constant, `f:3f800000` and `d:` for floating-point constants, or several in braces.
    fn operand(&mut self, text: &str) -> Operand {
        if let Some(parts) = text.strip_prefix('{') {
            let parts = parts.trim_end_matches('}').split(',');
            return Operand::Vector(parts.map(|part| self.operand(part)).collect());
        }
        if let Some((first, second)) = text.split_once('|') {
            let mut id = |ty: &str| (ty != "_").then(|| self.register(ty));
            return Operand::Pair(id(first), id(second));
        }
        if let Some(value) = text.strip_prefix('#') {
            return Operand::Integer(value.parse::<i64>().expect("a number") as u64);
        }
        if let Some(bits) = text.strip_prefix("f:") {
            return Operand::Single(u32::from_str_radix(bits, 16).expect("bits"));
        }
        if let Some(bits) = text.strip_prefix("d:") {
            return Operand::Double(u64::from_str_radix(bits, 16).expect("bits"));
        }
        match text.strip_prefix('!') {
            Some(ty) => Operand::Negated(self.register(ty)),
            None if text == "_" => Operand::Sink,
            None => Operand::Register(self.register(text)),
        }
    }
}

impl Op {
    /// Creates an instruction from its text and its operands, the destination first:
    /// `Op::new("add.s32", "b32 b32 b32")`.
    #[track_caller]
    pub fn new(text: &str, operands: &str) -> Self {
        Self::try_new(text, operands, 0).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    /// Like [`new`](Self::new), with shifted approximations.
    #[track_caller]
    pub fn shifted(text: &str, operands: &str, approximation: i8) -> Self {
        Self::try_new(text, operands, approximation).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    /// Like [`new`](Self::new), but returns the error if lowering fails.
    pub fn try_new(text: &str, operands: &str, approximation: i8) -> Result<Self, String> {
        let mut parser = Parser { registers: Vec::new(), used: Vec::new() };
        let mut words = operands.split_whitespace();
        let mut parsed = vec![parser.operand(words.next().expect("a destination"))];
        let destinations = std::mem::take(&mut parser.used);
        parsed.extend(words.map(|word| parser.operand(word)));
        let (sources, registers) = (parser.used, parser.registers);
        let mut rows = Vec::new();
        let (mut row, mut predicate) = (0, 0);
        for register in &registers {
            let next = if register.ty.kind == Kind::Predicate { &mut predicate } else { &mut row };
            rows.push(*next);
            *next += if register.ty.bits == 64 { 2 } else { 1 };
        }
        let (opcode, modifiers) = text.split_once('.').unwrap_or((text, ""));
        let inst = Instruction {
            guard: None,
            opcode: opcode.into(),
            modifiers: modifiers.split('.').filter(|word| !word.is_empty()).map(String::from).collect(),
            operands: parsed,
            line: 1,
            location: None,
        };
        let lowering = alu::TABLES.iter().flat_map(|table| table.iter()).find(|(name, _)| *name == opcode);
        let (_, lowering) = lowering.ok_or("the opcode is not known")?;
        let locations = HashMap::new();
        let mut programs = Vec::new();
        for avx2 in [true, false] {
            let mut low = Lower::new(approximation, &registers, &rows, &locations);
            low.avx2 &= avx2;
            low.begin(&inst)?;
            lowering(&mut low, &inst)?;
            (low.program.rows, low.program.predicates) = (row as usize, predicate as usize);
            programs.push(low.program);
        }
        Ok(Self { text: text.into(), registers, rows, destinations, sources, programs, carry: 0 })
    }

    /// Sets the carries before the instruction.
    #[must_use]
    pub fn with_carry(mut self, carry: u32) -> Self {
        self.carry = carry;
        self
    }

    /// Returns a register of a lane.
    fn get(&self, warp: &Warp, register: usize, lane: usize) -> u64 {
        let row = self.rows[register] as usize;
        match self.registers[register].ty.bits {
            1 => u64::from(warp.predicates[row] >> lane & 1),
            8 | 16 => u64::from(warp.rows[row].0[lane / 2] >> (lane % 2 * 16) & 0xffff),
            32 => warp.rows[row].0[lane].into(),
            _ => {
                let (row, at) = (row + lane / 16, lane % 16 * 2);
                u64::from(warp.rows[row].0[at]) | u64::from(warp.rows[row].0[at + 1]) << 32
            }
        }
    }

    fn set(&self, warp: &mut Warp, register: usize, lane: usize, value: u64) {
        let row = self.rows[register] as usize;
        match self.registers[register].ty.bits {
            1 => warp.predicates[row] = warp.predicates[row] & !(1 << lane) | ((value & 1) as u32) << lane,
            8 | 16 => {
                let (word, shift) = (&mut warp.rows[row].0[lane / 2], lane % 2 * 16);
                *word = *word & !(0xffff << shift) | (value as u32 & 0xffff) << shift;
            }
            32 => warp.rows[row].0[lane] = value as u32,
            _ => {
                let (row, at) = (row + lane / 16, lane % 16 * 2);
                warp.rows[row].0[at] = value as u32;
                warp.rows[row].0[at + 1] = (value >> 32) as u32;
            }
        }
    }

    /// Runs it on the operands of up to 32 lanes, and returns all results of each lane and the
    /// carries. Checks that both programs agree, and that inactive lanes keep their values.
    #[track_caller]
    pub fn warp(&self, lanes: &[Vec<u64>]) -> (Vec<Vec<u64>>, u32) {
        let active = u32::MAX >> (LANES - lanes.len());
        let mut all = self.programs.iter().map(|program| {
            let mut warp = Warp { active, live: active, carry: self.carry, ..Warp::default() };
            warp.rows = vec![Row([0x5a5a_5a5a; LANES]); program.rows];
            warp.predicates = vec![0x5a5a_5a5a; program.predicates];
            for (lane, values) in lanes.iter().enumerate() {
                assert_eq!(values.len(), self.sources.len(), "{}", self.text);
                for (register, value) in self.sources.iter().zip(values) {
                    self.set(&mut warp, *register, lane, *value);
                }
            }
            let before: Vec<Vec<u64>> = (0..LANES).map(|lane| self.results(&warp, lane)).collect();
            assert_eq!(run(program, &mut warp), Flow::Next, "{}", self.text);
            for (lane, before) in before.iter().enumerate().skip(lanes.len()) {
                assert_eq!(*before, self.results(&warp, lane), "{}: lane {lane} does not run", self.text);
            }
            ((0..lanes.len()).map(|lane| self.results(&warp, lane)).collect(), warp.carry)
        });
        let first = all.next().expect("a program");
        for other in all {
            assert_eq!(first, other, "{}: AVX2 and the baseline differ for {lanes:x?}", self.text);
        }
        first
    }

    fn results(&self, warp: &Warp, lane: usize) -> Vec<u64> {
        self.destinations.iter().map(|register| self.get(warp, *register, lane)).collect()
    }

    /// Runs it on operands, and passes each set of them with the first result to a check.
    #[track_caller]
    pub fn each<const N: usize>(
        &self,
        cases: impl IntoIterator<Item = [u64; N]>,
        mut check: impl FnMut([u64; N], u64),
    ) {
        let mut cases = cases.into_iter().peekable();
        while cases.peek().is_some() {
            let lanes: Vec<[u64; N]> = cases.by_ref().take(LANES).collect();
            let (results, _) = self.warp(&lanes.iter().map(|case| case.to_vec()).collect::<Vec<_>>());
            for (case, results) in lanes.into_iter().zip(results) {
                check(case, results[0]);
            }
        }
    }

    /// Runs it on one set of operands.
    #[track_caller]
    pub fn one<const N: usize>(&self, case: [u64; N]) -> u64 {
        self.all(case)[0]
    }

    /// Like [`one`](Self::one), but returns all results.
    #[track_caller]
    pub fn all<const N: usize>(&self, case: [u64; N]) -> Vec<u64> {
        self.warp(&[case.to_vec()]).0.remove(0)
    }

    /// Compares it with a function on operands.
    #[track_caller]
    pub fn is<const N: usize>(&self, cases: impl IntoIterator<Item = [u64; N]>, mut want: impl FnMut([u64; N]) -> u64) {
        self.each(cases, |case, got| {
            let want = want(case);
            assert_eq!(got, want, "{} of {case:x?}: {got:#x}, not {want:#x}", self.text);
        });
    }
}

/// A `Describe` without names.
struct Nobody;

impl Describe for Nobody {
    fn instruction(&self, site: u32) -> String {
        format!("step {site}")
    }

    fn thread(&self, place: &Where, lane: u32) -> String {
        format!("{place:?} lane {lane}")
    }
}

/// Runs a program's steps in an environment without memory.
fn with_env<R>(program: &Program, body: impl FnOnce(&mut Env<'_>) -> R) -> R {
    static MEMORY: LazyLock<Memory> = LazyLock::new(|| Memory::new(1 << 24).expect("addresses"));
    let clock = AtomicU64::new(0);
    let findings = Findings::new();
    let launch = Launch::new("test", &MEMORY, &findings, 4, false);
    body(&mut Env {
        program,
        launch: &launch,
        shared: &mut Local::new(),
        caches: &mut [SiteCache::default(); SITE_CACHES],
        describe: &Nobody,
        block: 0,
        block_at: [0; 3],
        grid: [1; 3],
        threads: [32, 1, 1],
        arguments: &[],
        arguments_at: 0,
        dynamic_shared: 0,
        clock: &clock,
        patience: u32::MAX,
        watched: false,
        coverage: None,
        fault: None,
    })
}

fn run(program: &Program, warp: &mut Warp) -> Flow {
    with_env(program, |env| {
        let mut flow = Flow::Next;
        for step in &program.steps {
            // SAFETY: the program was lowered for this processor, it is the environment's, and the
            // warp has its registers.
            flow = unsafe { (step.exec)(warp, step, env) };
        }
        flow
    })
}
