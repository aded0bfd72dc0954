//! Test support for single instructions: runs one instruction on one wave, and generates useful
//! operands.

use isobit_simgpu_amd::exec::lower::Lower;
use isobit_simgpu_amd::exec::program::{Flow, Unsupported};
use isobit_simgpu_amd::exec::wave::{Env, SITE_CACHES, Wave};
use isobit_simgpu_amd::isa::{Arch, Encoding, Inst, Operand, blank};
use isobit_simgpu_core::check::{Describe, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::Findings;
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_core::vector::has_vector_unit;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;

/// A wave of a target, and the settings with which its instructions are executed.
pub struct Bench {
    /// The target.
    pub arch: Arch,
    /// Whether to use the functions compiled for AVX2 instead of the baseline's.
    pub vector_unit: bool,
    /// The shift of approximate results.
    pub approximation: i8,
    /// The wave. All its lanes are initially active.
    pub wave: Wave,
    /// Why the last instruction faulted.
    pub fault: Option<String>,
}

impl Bench {
    /// Creates a wave whose registers are zero.
    pub fn new(arch: Arch, vector_unit: bool) -> Self {
        let mut wave = Wave::new();
        wave.width = arch.wave_size();
        wave.live = if wave.width == 64 { u64::MAX } else { 0xffff_ffff };
        wave.set_exec(wave.live);
        Self { arch, vector_unit, approximation: 0, wave, fault: None }
    }

    /// Returns every target, with the functions for AVX2 if the processor has it, and with those of
    /// the baseline.
    pub fn all() -> impl Iterator<Item = Self> {
        Arch::ALL.into_iter().flat_map(|arch| {
            let fast = has_vector_unit().then(|| Self::new(arch, true));
            fast.into_iter().chain([Self::new(arch, false)])
        })
    }

    /// Fills the vector registers that tests use (v0 to v31, a0 to a31), all scalar registers
    /// except EXEC, and SCC.
    pub fn fill(&mut self, random: &mut Random) {
        for row in (0..32).chain(256..288) {
            self.wave.v[row].0.fill_with(|| random.word());
        }
        for at in (0..128u8).filter(|&at| at < 124) {
            self.wave.set_word(at, random.word());
        }
        self.wave.scc = random.next() & 1 == 1;
    }

    /// Runs one instruction.
    ///
    /// # Errors
    /// The errors of [`Lower::one`].
    pub fn try_run(&mut self, inst: &Inst) -> Result<Flow, Unsupported> {
        let mut program = Lower::new(self.arch, self.approximation, self.vector_unit)
            .program(std::iter::once(Ok(inst.clone())), 0x7000_0000);
        if let Some(why) = program.faults.remove(&0) {
            return Err(why);
        }
        static MEMORY: LazyLock<Memory> = LazyLock::new(|| Memory::new(1 << 24).expect("addresses"));
        let clock = AtomicU64::new(7);
        let findings = Findings::new();
        let launch = Launch::new("test", &MEMORY, &findings, 4, false);
        let mut env = Env {
            program: &program,
            launch: &launch,
            local: &mut Local::new(),
            caches: &mut [SiteCache::default(); SITE_CACHES],
            describe: &Nobody,
            group: 0,
            shared_aperture: 0x10000,
            private_aperture: 0x20000,
            clock: &clock,
            host_calls: None,
            patience: u32::MAX,
            watched: false,
            coverage: None,
            fault: None,
        };
        self.wave.next = 1;
        // SAFETY: the program was lowered for this wave's width, with the features that `new` was
        // given, and it is the environment's program.
        let flow = unsafe { (program.steps[0].exec)(&mut self.wave, &program.steps[0], &mut env) };
        self.fault = env.fault;
        Ok(flow)
    }

    /// Runs one instruction, which must succeed and let the wave continue.
    #[track_caller]
    pub fn run(&mut self, inst: &Inst) {
        match self.try_run(inst) {
            Ok(Flow::Next) => {}
            other => panic!("{} on {}: {other:?}, {:?}", inst.name, self.arch.name(), self.fault),
        }
    }

    /// Returns a lane of a vector register.
    pub fn word(&self, register: u16, lane: usize) -> u32 {
        self.wave.v[usize::from(register)].0[lane]
    }

    /// Returns a lane of a pair of vector registers.
    pub fn pair(&self, register: u16, lane: usize) -> u64 {
        u64::from(self.word(register, lane)) | u64::from(self.word(register + 1, lane)) << 32
    }

    /// Sets a lane of a pair of vector registers.
    pub fn set_pair(&mut self, register: u16, lane: usize, pair: u64) {
        self.wave.v[usize::from(register)].0[lane] = pair as u32;
        self.wave.v[usize::from(register) + 1].0[lane] = (pair >> 32) as u32;
    }
}

/// Provides no names, because instructions under test produce no findings.
struct Nobody;

impl Describe for Nobody {
    fn instruction(&self, site: u32) -> String {
        format!("step {site}")
    }

    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("{place:?} lane {lane}")
    }
}

/// Returns an instruction without modifiers; tests that need modifiers set its fields.
pub fn inst(name: &'static str, encoding: Encoding, dst: Operand, src: &[Operand]) -> Inst {
    let mut operands = [Operand::None; 4];
    operands[..src.len()].copy_from_slice(src);
    Inst {
        size: 8,
        dst,
        src: operands,
        src_count: src.len() as u8,
        dst_dwords: 1,
        src_dwords: [1; 4],
        op_sel_hi: if encoding == Encoding::Vop3p { 7 } else { 0 },
        ..blank(encoding, name, name)
    }
}

/// A random generator with the same numbers in every run: SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// Returns 64 uniformly distributed bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a word: a random one, or an edge case of some type.
    pub fn word(&mut self) -> u32 {
        const EDGES: [u32; 20] = [
            0,
            1,
            2,
            31,
            32,
            33,
            63,
            64,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x0001_0000,
            0x7fff_ffff,
            0x8000_0000,
            0x8000_0001,
            0xffff_fffe,
            0xffff_ffff,
        ];
        let bits = self.next();
        let word = (bits >> 32) as u32;
        match bits & 7 {
            0..=2 => EDGES[(bits >> 8) as usize % EDGES.len()],
            3 => word >> (bits >> 8 & 31),
            4 => !(word >> (bits >> 8 & 31)),
            _ => word,
        }
    }

    /// Returns one of several values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }
}
