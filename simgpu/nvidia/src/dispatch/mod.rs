//! A launch: arguments as the kernel reads them, and its blocks over the host's threads.

mod arguments;
mod barriers;
mod block;
mod check;
mod names;

use crate::arch::Arch;
use crate::exec::row::LANES;
use crate::module::{Approximation, Kernel, LoadError, Module};
use arguments::Arguments;
use block::{BlockState, Grid};
use isobit_simgpu_core::check::Launch;
use isobit_simgpu_core::finding::{Fault, Findings};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_core::schedule::{Schedule, States};
use names::Names;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::module::MAX_THREADS;

/// One simulated card.
pub struct Gpu {
    arch: Arch,
    approximation: Approximation,
    memory: Arc<Memory>,
    findings: Arc<Findings>,
    schedule: Schedule,
    states: States<BlockState>,
    arguments: Arguments,
    clock: AtomicU64,
    instructions: AtomicU64,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Gpu {
    /// A card, whose blocks run on as many host threads.
    ///
    /// # Errors
    /// The host gives no threads.
    pub fn new(
        arch: Arch,
        memory: Arc<Memory>,
        findings: Arc<Findings>,
        threads: usize,
        approximation: Approximation,
    ) -> Result<Self, Fault> {
        let schedule =
            Schedule::new(threads).map_err(|e| Fault::new(format!("no threads for the simulated GPU: {e}")))?;
        Ok(Self {
            arch,
            approximation,
            arguments: Arguments::new(memory.clone()),
            memory,
            findings,
            schedule,
            states: States::new(),
            clock: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
        })
    }

    /// Which card it is.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Instructions executed since the start, times the lanes of a warp.
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Loads PTX.
    ///
    /// # Errors
    /// As [`LoadError`] says.
    pub fn load(&self, image: &[u8]) -> Result<Module, LoadError> {
        Module::load(self.arch, self.approximation, &self.memory, image)
    }

    /// Runs a kernel to its end: `grid` blocks of `block` threads with so many bytes of dynamic shared memory, and the argument buffer
    /// (what it lacks reads as zero).
    ///
    /// # Errors
    /// A grid or block that the card does not take; an instruction that cannot be executed. Accesses that should not be made are findings,
    /// not errors.
    pub fn launch(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        arguments: &[u8],
    ) -> Result<(), Fault> {
        check::shape(self.arch, kernel, grid, block, dynamic_shared)?;
        let filled = self.arguments.fill(kernel.argument_bytes(), arguments)?;
        let program = &*kernel.program;
        let launch = Launch::new(&kernel.name, &self.memory, &self.findings, program.granules, program.atomics);
        let of_launch = Grid {
            kernel,
            launch: &launch,
            arguments: &filled,
            grid,
            block,
            dynamic_shared,
            clock: &self.clock,
            describe: &Names { program, grid, block },
        };
        let blocks = grid.iter().map(|&n| u64::from(n)).product();
        self.schedule.run(blocks, &self.states, BlockState::new, |state, index| {
            let (executed, outcome) = of_launch.run(state, index as u32);
            self.instructions.fetch_add(executed * LANES as u64, Ordering::Relaxed);
            outcome
        })
    }
}

/// The coordinates of a linear index.
fn coordinates(index: u32, extent: [u32; 3]) -> [u32; 3] {
    [index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]]
}
