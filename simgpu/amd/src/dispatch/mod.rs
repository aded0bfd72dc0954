//! Kernel launches: prepares the arguments as the kernel reads them, and distributes the groups
//! over the host's threads.

mod arguments;
mod group;
mod registers;
mod units;

use crate::exec::lower::Approximation;
use crate::isa::Arch;
use crate::loader::{Kernel, LoadError, Module};
use crate::service::Services;
use arguments::Arguments;
use group::{Group, GroupState};
use isobit_simgpu_core::check::{Describe, Launch, Place, UnmarkedStores, Violation};
use isobit_simgpu_core::engine::{Engine, coordinates};
use isobit_simgpu_core::finding::{Fault, Findings};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_core::print::Output;
use std::fmt;
use std::sync::Arc;

pub use units::Units;

/// The group memory of a compute unit in bytes, on all simulated cards.
pub const LDS_BYTES: u32 = 64 << 10;
/// Blocks get group memory in units of this number of bytes, on all simulated cards
/// (`GRANULATED_LDS_SIZE` in LLVM's user guide for AMDGPU).
const LDS_UNIT: u32 = 512;
/// The largest number of threads per block.
pub const MAX_THREADS: u32 = 1024;
/// The high halves of the addresses through which generic pointers reach group and private memory.
/// They lie above what a host process can map.
const SHARED_APERTURE: u32 = 0x0001_0000;
const PRIVATE_APERTURE: u32 = 0x0002_0000;

/// What AMD's cards report. They drop accesses outside group memory, let kernels write code, do not
/// see where the private memory of a thread ends, and make accesses that are not aligned.
const REPORTED: [Violation; 1] = [Violation::Outside];

/// The bytes of stack per thread that a kernel with a stack of unknown depth gets by default.
pub const DEFAULT_STACK: u32 = 16 << 10;

/// One simulated card.
pub struct Gpu {
    arch: Arch,
    approximation: Approximation,
    engine: Engine<GroupState>,
    arguments: Arguments,
    services: Services,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Creates a card of a target. Its groups run on the given number of host threads.
    ///
    /// # Errors
    /// The host cannot create the threads.
    pub fn new(
        arch: Arch,
        memory: Arc<Memory>,
        findings: Arc<Findings>,
        threads: usize,
        approximation: Approximation,
    ) -> Result<Self, Fault> {
        let arguments = Arguments::new(memory.clone());
        let services = Services::new(memory.clone());
        Ok(Self { arch, approximation, engine: Engine::new(memory, findings, threads)?, arguments, services })
    }

    /// Makes kernels print to this output, instead of to one that prints at once.
    #[must_use]
    pub fn with_output(self, output: Output) -> Self {
        Self { services: self.services.with_output(output), ..self }
    }

    /// Returns where kernels print. As with the real runtime, that happens while they run, or when
    /// they end if they are compiled with `-mprintf-kind=buffered`.
    pub fn output(&self) -> &Output {
        self.services.output()
    }

    /// Returns the card's architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the number of instructions executed since the start, times the lanes of a wave.
    pub fn instructions(&self) -> u64 {
        self.engine.instructions()
    }

    /// Loads a code object, or the one in a bundle that matches this card.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(&self, image: &[u8]) -> Result<Module, LoadError> {
        Module::load(self.arch, self.approximation, &self.engine.memory, image)
    }

    /// Runs a kernel to completion: `grid` blocks of `block` threads, with the given number of
    /// bytes of dynamic group memory and the explicit part of the argument segment (missing bytes
    /// read as zero).
    ///
    /// # Errors
    /// A grid or block that the card does not accept; an instruction that cannot be executed; an
    /// access outside every allocation, unless findings are only recorded.
    pub fn launch(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        kernarg: &[u8],
    ) -> Result<(), Fault> {
        self.launch_with_stack(kernel, grid, block, dynamic_lds, DEFAULT_STACK, kernarg)
    }

    /// Like [`launch`](Self::launch), with the bytes of stack that each thread has if the kernel's
    /// stack has an unknown depth. A thread that needs more is a fault.
    ///
    /// # Errors
    /// The errors of [`launch`](Self::launch).
    pub fn launch_with_stack(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        stack: u32,
        kernarg: &[u8],
    ) -> Result<(), Fault> {
        let threads = block.iter().try_fold(1u32, |all, &n| all.checked_mul(n)).unwrap_or(u32::MAX);
        if grid.contains(&0) || threads == 0 {
            return Err(Fault::new(format!(
                "{}: a grid of {grid:?} blocks of {block:?} threads is empty",
                kernel.name
            )));
        }
        if threads > kernel.max_threads.min(MAX_THREADS) {
            let most = kernel.max_threads.min(MAX_THREADS);
            return Err(Fault::new(format!("{}: a block of {threads} threads, and it can have {most}", kernel.name)));
        }
        let lds = kernel.lds_bytes.saturating_add(dynamic_lds);
        if lds > LDS_BYTES {
            return Err(Fault::new(format!(
                "{}: {lds} bytes of group memory exceed the limit of {LDS_BYTES}",
                kernel.name
            )));
        }
        let groups =
            grid.iter().try_fold(1u64, |all, &n| all.checked_mul(n.into())).filter(|&n| n <= u64::from(u32::MAX));
        let groups = groups.ok_or_else(|| Fault::new(format!("{}: more than 2^32 blocks: {grid:?}", kernel.name)))?;
        if let Some(marks) = &kernel.coverage {
            marks.launched();
        }
        let services = self.services.start(kernel)?;
        let arguments = self.arguments.fill(kernel, grid, block, dynamic_lds, stack, kernarg, &services)?;
        // On gfx942, atomic stores to global memory have cache bits.
        let unmarked = UnmarkedStores { global: self.arch != Arch::Gfx942, local: true };
        let launch =
            Launch::new(&kernel.name, &self.engine.memory, &self.engine.findings, kernel.granules, kernel.atomics)
                .with_local_unit(LDS_UNIT)
                .with_unmarked_stores(unmarked)
                // ROCm sets the hardware so, and LLVM combines loads of bytes accordingly.
                .allowing_unaligned();
        let group = Group {
            kernel,
            launch: &launch,
            arguments: &arguments,
            host_calls: services.host_calls(),
            grid,
            block,
            lds_bytes: lds,
            private_bytes: kernel.private_with(stack),
            width: self.arch.wave_size(),
            clock: &self.engine.clock,
            describe: &Names { kernel, grid, block, width: self.arch.wave_size() as u32 },
            instructions: self.engine.counter(),
        };
        let ran = self.engine.run(groups, self.arch.units().resident(kernel, threads, dynamic_lds), &group);
        // What a kernel printed before it failed helps to find out why.
        let printed = services.end(kernel);
        launch.outcome(ran.and(printed), &REPORTED)
    }
}

/// The names of a launch's parts, for findings.
struct Names<'a> {
    kernel: &'a Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    width: u32,
}

impl Describe for Names<'_> {
    fn instruction(&self, site: u32) -> String {
        let program = &self.kernel.program;
        let Some(step) = program.steps.get(site as usize) else { return String::new() };
        let from = step.offset - program.steps[self.kernel.entry].offset.min(step.offset);
        match program.insts.get(step.inst as usize) {
            Some(inst) => format!("+{from:#x}: {}", inst.display(program.arch)),
            None => format!("+{from:#x}"),
        }
    }

    fn thread(&self, place: &Place, lane: u32) -> String {
        let group = coordinates(place.group, self.grid);
        let thread = coordinates(place.wave * self.width + lane, self.block);
        format!("block {group:?} thread {thread:?}")
    }
}
