//! A test harness for instructions that need more than registers: a warp with memory of every kind,
//! and instructions in PTX notation.

mod text;

use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{Finding, FindingKind, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind as Memories, Memory};
use isobit_simgpu_nvidia::exec::warp::SITE_CACHES;
use isobit_simgpu_nvidia::exec::{Env, Flow, LANES, Program, Row, Warp};
use isobit_simgpu_nvidia::lower::{Location, Lower, Table};
use isobit_simgpu_nvidia::ptx::ast::{Instruction, Kind, Operand, Register, Type};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

/// Bytes of shared memory, and of local memory per thread.
pub const BYTES: usize = 8192;

/// Registers of each kind: `%b0`, `%s0`, `%r0`, `%d0`, `%q0` with 8 to 128 bits, and `%p0`.
const KINDS: [(&str, u32, u32); 6] =
    [("b", 8, 4), ("s", 16, 8), ("r", 32, 24), ("d", 64, 12), ("q", 128, 6), ("p", 1, 6)];

/// A warp with memory of every kind.
pub struct Rig {
    /// Whether steps use AVX2.
    pub avx2: bool,
    /// The warp.
    pub warp: Warp,
    /// Device memory.
    pub memory: Memory,
    /// The findings.
    pub findings: Findings,
    /// Shared memory.
    pub shared: Local,
    /// Variables.
    pub locations: HashMap<String, Location>,
    /// The argument buffer.
    pub arguments: Vec<u8>,
    /// Its copy in device memory.
    pub arguments_at: u64,
    /// Threads per block.
    pub threads: [u32; 3],
    /// The random number generator.
    pub random: Random,
    registers: Vec<Register>,
    rows: Vec<u32>,
}

struct Names;

impl Describe for Names {
    fn instruction(&self, site: u32) -> String {
        format!("step {site}")
    }

    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("block {} warp {} lane {lane}", place.group, place.wave)
    }
}

impl Rig {
    /// Creates a warp with all lanes active.
    pub fn new(avx2: bool) -> Self {
        let (mut registers, mut rows) = (Vec::new(), Vec::new());
        let mut row = 0;
        let mut predicate = 0;
        for (name, bits, count) in KINDS {
            for number in 0..count {
                let kind = if bits == 1 { Kind::Predicate } else { Kind::Bits };
                registers.push(Register { name: format!("%{name}{number}"), ty: Type { kind, bits } });
                let next = if bits == 1 { &mut predicate } else { &mut row };
                rows.push(*next);
                *next += bits.div_ceil(32);
            }
        }
        let mut warp = Warp {
            rows: vec![Row::ZERO; row as usize],
            predicates: vec![0; predicate as usize],
            active: u32::MAX,
            live: u32::MAX,
            ..Warp::default()
        };
        warp.private.reset(BYTES as u32);
        let mut shared = Local::new();
        shared.reset(BYTES, 4);
        let memory = Memory::new(1 << 24).unwrap();
        let mut random = Random(7);
        let arguments: Vec<u8> = (0..256).map(|_| random.next() as u8).collect();
        let arguments_at = memory.alloc(arguments.len(), Memories::Constant, "arguments").unwrap();
        // SAFETY: just allocated with this size.
        unsafe { (arguments_at as *mut u8).copy_from_nonoverlapping(arguments.as_ptr(), arguments.len()) };
        Self {
            avx2,
            warp,
            memory,
            findings: Findings::new(),
            shared,
            locations: HashMap::new(),
            arguments,
            arguments_at,
            threads: [32, 1, 1],
            random,
            registers,
            rows,
        }
    }

    /// Runs a test with the AVX2 functions, if the processor has AVX2, and with those of the
    /// baseline.
    pub fn each(mut test: impl FnMut(Self)) {
        let locations = HashMap::new();
        let fast = Lower::new(0, &[], &[], &locations).avx2;
        for avx2 in [false, fast] {
            test(Self::new(avx2));
        }
    }

    /// Fills all registers.
    pub fn fill(&mut self) {
        for row in &mut self.warp.rows {
            row.0.fill_with(|| self.random.word());
        }
        self.warp.predicates.fill_with(|| self.random.word());
    }

    /// Activates all lanes, the first ones, or random ones.
    pub fn random_active(&mut self) -> u32 {
        self.warp.active = match self.random.next() % 4 {
            0 => u32::MAX,
            1 => u32::MAX >> (self.random.next() % 32),
            2 => 1 << (self.random.next() % 32),
            _ => (self.random.next() as u32).max(1),
        };
        self.warp.active
    }

    /// Allocates global memory with random bytes.
    pub fn buffer(&mut self, bytes: usize) -> u64 {
        let base = self.memory.alloc(bytes, Memories::Pinned, "").unwrap();
        // SAFETY: just allocated with this size.
        let all = unsafe { std::slice::from_raw_parts_mut(base as *mut u8, bytes) };
        all.fill_with(|| self.random.next() as u8);
        base
    }

    /// Fills shared memory with random bytes.
    pub fn fill_shared(&mut self) {
        let launch = Launch::new("fill", &self.memory, &self.findings, 4, true);
        self.warp.epoch += 1;
        let place = Place { epoch: self.warp.epoch, ..Place::default() };
        let store = isobit_simgpu_core::check::Access::Store;
        let bytes = self.shared.bytes().len() as u32;
        self.shared.check(&place, store, 0, 1, &[0; 64], bytes, 1, &launch, &Names);
        self.shared.bytes_mut().fill_with(|| self.random.next() as u8);
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.registers.iter().position(|register| register.name == name)
    }

    /// Returns the lanes of a register.
    pub fn get(&self, name: &str) -> [u128; LANES] {
        let at = self.index(name).unwrap();
        let row = self.rows[at] as usize;
        let bytes = self.registers[at].ty.bits.max(16) as usize / 8;
        let all: Vec<u8> =
            self.warp.rows[row..].iter().take(4).flat_map(|row| row.0).flat_map(u32::to_le_bytes).collect();
        std::array::from_fn(|lane| {
            let mut value = [0; 16];
            value[..bytes].copy_from_slice(&all[lane * bytes..][..bytes]);
            u128::from_le_bytes(value)
        })
    }

    /// Sets the lanes of a register.
    pub fn set(&mut self, name: &str, value: impl Fn(usize) -> u128) {
        let at = self.index(name).unwrap();
        let row = self.rows[at] as usize;
        let bytes = self.registers[at].ty.bits.max(16) as usize / 8;
        for lane in 0..LANES {
            for (i, byte) in value(lane).to_le_bytes().into_iter().enumerate().take(bytes) {
                let at = lane * bytes + i;
                let word = &mut self.warp.rows[row + at / 128].0[at % 128 / 4];
                *word = *word & !(0xff << (at % 4 * 8)) | u32::from(byte) << (at % 4 * 8);
            }
        }
    }

    /// Returns a predicate.
    pub fn predicate(&mut self, name: &str) -> &mut u32 {
        let at = self.index(name).unwrap();
        &mut self.warp.predicates[self.rows[at] as usize]
    }

    /// Lowers instructions, each with the place of its execution, and executes them in one launch.
    ///
    /// # Errors
    /// Fails if lowering or execution fails.
    pub fn execute(&mut self, code: &[(Place, &str)]) -> Result<Flow, String> {
        let mut steps = Vec::new();
        let mut program = {
            let mut lower = Lower::new(0, &self.registers, &self.rows, &self.locations);
            lower.avx2 = self.avx2;
            for (place, text) in code {
                for text in text.split(';').filter(|text| !text.trim().is_empty()) {
                    let inst = self.parse(text);
                    lower_one(&mut lower, &inst)?;
                    steps.resize(lower.program.steps.len(), *place);
                }
            }
            lower.program
        };
        let program: &Program = &mut program;
        let clock = AtomicU64::new(1 << 40);
        let launch =
            Launch::new("test", &self.memory, &self.findings, program.granules, program.atomics).with_local_unit(128);
        let mut env = Env {
            program,
            launch: &launch,
            shared: &mut self.shared,
            caches: &mut [SiteCache::default(); SITE_CACHES],
            describe: &Names,
            block: 0,
            block_at: [5, 6, 7],
            grid: [50, 60, 70],
            threads: self.threads,
            arguments: &self.arguments,
            arguments_at: self.arguments_at,
            dynamic_shared: 1000,
            clock: &clock,
            patience: u32::MAX,
            watched: false,
            coverage: None,
            fault: None,
        };
        for (pc, place) in steps.into_iter().enumerate() {
            (env.block, self.warp.number, self.warp.epoch) = (place.group, place.wave, place.epoch);
            self.warp.pc = pc + 1;
            // SAFETY: the program was lowered for the registers of this warp, with features that
            // the processor has.
            let flow = unsafe { (program.steps[pc].exec)(&mut self.warp, &program.steps[pc], &mut env) };
            if flow != Flow::Next {
                return env.fault.map_or(Ok(flow), |fault| Err(fault.to_string()));
            }
        }
        Ok(Flow::Next)
    }

    /// Performs the memory operation of an instruction for the active lanes, all at the same
    /// address and without checks.
    pub fn perform(&mut self, text: &str, at: u64) {
        let program = {
            let mut lower = Lower::new(0, &self.registers, &self.rows, &self.locations);
            lower_one(&mut lower, &self.parse(text)).unwrap();
            lower.program
        };
        let (form, lanes) = (&program.forms[0], self.warp.active);
        // SAFETY: tests pass the address of memory that they have allocated; the program was
        // lowered for the registers of this warp.
        unsafe { (form.lanes)(&mut self.warp, &program, form, lanes, &[at as *mut u8; LANES]) };
    }

    /// Executes instructions as if a barrier came before them.
    ///
    /// # Errors
    /// See [`execute`](Self::execute).
    pub fn try_run(&mut self, text: &str) -> Result<Flow, String> {
        let place = Place { group: 0, wave: self.warp.number, epoch: self.warp.epoch + 1 };
        self.execute(&[(place, text)])
    }

    /// Executes instructions that must not fail or give findings.
    #[track_caller]
    pub fn run(&mut self, text: &str) {
        assert_eq!(self.try_run(text), Ok(Flow::Next), "{text}");
        assert_eq!(self.findings.take(), [], "{text}");
    }

    /// Executes instructions and returns the findings.
    #[track_caller]
    pub fn found(&mut self, text: &str) -> Vec<Finding> {
        assert_eq!(self.try_run(text), Ok(Flow::Next), "{text}");
        self.findings.take()
    }

    /// Executes instructions and returns the kinds of the findings.
    #[track_caller]
    pub fn kinds(&mut self, text: &str) -> Vec<FindingKind> {
        self.found(text).into_iter().map(|found| found.kind).collect()
    }

    /// Returns the error of instructions that lowering rejects.
    #[track_caller]
    pub fn refused(&mut self, text: &str) -> String {
        self.try_run(text).expect_err(text)
    }
}

fn lower_one(lower: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    lower.begin(inst)?;
    match (inst.opcode.as_str(), inst.operands.get(1)) {
        ("mov", Some(Operand::Special(..))) => return isobit_simgpu_nvidia::exec::special::special(lower, inst),
        ("mov", _) => return isobit_simgpu_nvidia::exec::memory::symbol(lower, inst),
        _ => {}
    }
    let tables: [&[Table]; 2] = [isobit_simgpu_nvidia::exec::memory::TABLES, isobit_simgpu_nvidia::exec::cross::TABLES];
    let row = tables.into_iter().flatten().flat_map(|table| table.iter()).find(|row| row.0 == inst.opcode);
    row.ok_or("it is in no table")?.1(lower, inst)
}

/// Returns bytes of memory that a test filled.
pub fn bytes(base: u64, count: usize) -> Vec<u8> {
    // SAFETY: tests pass addresses that they have allocated, and no other thread accesses the
    // memory.
    unsafe { std::slice::from_raw_parts(base as *const u8, count) }.to_vec()
}

/// A SplitMix64 generator; its numbers are the same in every run.
pub struct Random(pub u64);

impl Random {
    /// Returns 64 uniformly distributed bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a word: any, a small one, or one near the largest.
    pub fn word(&mut self) -> u32 {
        let bits = self.next();
        match bits & 3 {
            0 => (bits >> 8) as u32 & 7,
            1 => !((bits >> 8) as u32 & 7),
            _ => (bits >> 32) as u32,
        }
    }

    /// Returns a random element.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }
}
