//! Tests of memory instructions.

mod atomics;
mod faults;
mod partial;
mod scalar;
mod share;
mod vector;

use crate::bench::{Random, inst};
use isobit_simgpu_amd::exec::lower::Lower;
use isobit_simgpu_amd::exec::wave::SITE_CACHES;
use isobit_simgpu_amd::exec::{Env, Flow, Wave};
use isobit_simgpu_amd::isa::{Arch, Inst, Operand};
use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{Finding, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind, Memory};
use isobit_simgpu_core::vector::has_vector_unit;
use std::sync::atomic::AtomicU64;

/// The high half of generic addresses of group memory.
const SHARED: u32 = 0x10000;
/// The high half of generic addresses of private memory.
const PRIVATE: u32 = 0x20000;
/// The size of group memory, and of each lane's private memory, in bytes.
const LOCAL: usize = 8192;

/// A wave with memory of every kind.
struct Rig {
    arch: Arch,
    vector_unit: bool,
    wave: Wave,
    memory: Memory,
    findings: Findings,
    local: Local,
    random: Random,
}

struct Names;

impl Describe for Names {
    fn instruction(&self, site: u32) -> String {
        format!("step {site}")
    }

    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("group {} wave {} lane {lane}", place.group, place.wave)
    }
}

impl Rig {
    fn new(arch: Arch, vector_unit: bool) -> Self {
        let mut wave = Wave::new();
        wave.width = arch.wave_size();
        wave.live = if wave.width == 64 { u64::MAX } else { 0xffff_ffff };
        wave.set_exec(wave.live);
        wave.private.reset(LOCAL as u32, wave.width);
        let mut local = Local::new();
        local.reset(LOCAL, 4);
        let memory = Memory::new(1 << 24).unwrap();
        Self { arch, vector_unit, wave, memory, findings: Findings::new(), local, random: Random(7) }
    }

    /// Runs a test on every target, with the functions for AVX2 if the processor has it, and with
    /// those of the baseline.
    fn each(mut test: impl FnMut(Self)) {
        for arch in Arch::ALL {
            for vector_unit in [false, has_vector_unit()] {
                test(Self::new(arch, vector_unit));
            }
        }
    }

    fn lanes(&self) -> usize {
        self.wave.width
    }

    /// Sets and returns a random mask; in one of three cases it has all lanes.
    fn random_exec(&mut self) -> u64 {
        let mask = match self.random.next() % 3 {
            0 => u64::MAX,
            1 => u64::MAX >> (self.random.next() % 32),
            _ => self.random.next(),
        } & self.wave.live;
        self.wave.set_exec(mask);
        mask
    }

    /// Fills the vector registers that tests use.
    fn fill(&mut self) {
        for row in 0..32 {
            self.wave.v[row].0.fill_with(|| self.random.next() as u32);
        }
    }

    /// Allocates global memory with random bytes.
    fn buffer(&mut self, bytes: usize) -> u64 {
        let base = self.memory.alloc(bytes, Kind::Pinned, "").unwrap();
        // SAFETY: the memory was just allocated with this size.
        let all = unsafe { std::slice::from_raw_parts_mut(base as *mut u8, bytes) };
        all.fill_with(|| self.random.next() as u8);
        base
    }

    fn set_pair(&mut self, register: usize, lane: usize, value: u64) {
        self.wave.v[register].0[lane] = value as u32;
        self.wave.v[register + 1].0[lane] = (value >> 32) as u32;
    }

    fn set_scalar_pair(&mut self, register: u8, value: u64) {
        self.wave.set_pair(register, value);
    }

    /// Runs one instruction in a launch of its own.
    fn try_run(&mut self, inst: &Inst) -> (Flow, Option<String>) {
        let program =
            Lower::new(self.arch, 0, self.vector_unit).program(std::iter::once(Ok(inst.clone())), 0x7000_0000);
        if let Some(why) = program.faults.get(&0) {
            return (Flow::Fault, Some(why.to_string()));
        }
        let clock = AtomicU64::new(40);
        let launch = Launch::new("test", &self.memory, &self.findings, 1, true).with_local_unit(512);
        let mut env = Env {
            program: &program,
            launch: &launch,
            local: &mut self.local,
            caches: &mut [SiteCache::default(); SITE_CACHES],
            describe: &Names,
            group: 0,
            shared_aperture: SHARED,
            private_aperture: PRIVATE,
            clock: &clock,
            host_calls: None,
            patience: u32::MAX,
            watched: false,
            coverage: None,
            fault: None,
        };
        self.wave.next = 1;
        // Each instruction runs as if it followed a barrier.
        self.wave.epoch += 1;
        // SAFETY: the program was lowered for this wave's width, with features that the processor
        // has, and it is the environment's program.
        let flow = unsafe { (program.steps[0].exec)(&mut self.wave, &program.steps[0], &mut env) };
        (flow, env.fault)
    }

    /// Runs one instruction that must produce no findings.
    #[track_caller]
    fn run(&mut self, inst: &Inst) {
        let (flow, fault) = self.try_run(inst);
        assert_eq!((flow, fault), (Flow::Next, None), "{} on {}", inst.name, self.arch.name());
        assert_eq!(self.findings.take(), [], "{} on {}", inst.name, self.arch.name());
    }

    /// Runs one instruction and returns the findings.
    #[track_caller]
    fn findings(&mut self, inst: &Inst) -> Vec<Finding> {
        let (flow, fault) = self.try_run(inst);
        assert_eq!((flow, fault), (Flow::Next, None), "{} on {}", inst.name, self.arch.name());
        self.findings.take()
    }

    /// Returns copies of the rows that start at `first`.
    fn rows<const N: usize>(&self, first: usize) -> [[u32; 64]; N] {
        std::array::from_fn(|i| self.wave.v[first + i].0)
    }
}

/// Returns the bytes of memory that a test filled.
fn bytes(base: u64, count: usize) -> Vec<u8> {
    // SAFETY: tests pass memory that they have allocated, and no other thread accesses it.
    unsafe { std::slice::from_raw_parts(base as *const u8, count) }.to_vec()
}

const V: fn(u16) -> Operand = Operand::Vgpr;
const S: fn(u8) -> Operand = Operand::Sgpr;
