//! A launch: the arguments, and the distribution of its blocks over the host's threads.

mod arguments;
mod barriers;
mod block;
mod check;
mod deadlock;
mod names;

use crate::arch::Arch;
use crate::exec::stack::DEFAULT_STACK;
use crate::module::{Approximation, Kernel, LoadError, Module};
use arguments::Arguments;
use block::{BlockState, Grid};
use isobit_simgpu_core::check::{Launch, Violation};
use isobit_simgpu_core::engine::Engine;
use isobit_simgpu_core::finding::{Fault, Findings};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_core::print::Output;
use names::Names;
use std::fmt;
use std::sync::Arc;

pub use crate::module::MAX_THREADS;

/// What NVIDIA's cards report, as `CUDA_ERROR_ILLEGAL_ADDRESS` and
/// `CUDA_ERROR_MISALIGNED_ADDRESS`.
const REPORTED: [Violation; 4] =
    [Violation::Outside, Violation::OutsideOwn, Violation::ReadOnly, Violation::Misaligned];

/// One simulated card.
pub struct Gpu {
    arch: Arch,
    approximation: Approximation,
    engine: Engine<BlockState>,
    arguments: Arguments,
    output: Output,
}

/// The bytes of `printf` that a card holds until they are printed, as `cudaLimitPrintfFifoSize`
/// documents its default.
const HELD: usize = 1 << 20;

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("arch", &self.arch).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Creates a card whose blocks run on the given number of host threads.
    ///
    /// # Errors
    /// Fails if the host cannot start the threads.
    pub fn new(
        arch: Arch,
        memory: Arc<Memory>,
        findings: Arc<Findings>,
        threads: usize,
        approximation: Approximation,
    ) -> Result<Self, Fault> {
        let arguments = Arguments::new(memory.clone());
        let engine = Engine::new(memory, findings, threads)?;
        Ok(Self { arch, approximation, engine, arguments, output: Output::held(HELD) })
    }

    /// Returns what kernels print: it waits there until [`Output::flush`].
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Returns the architecture of the card.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the number of executed warp instructions since the start, multiplied by the lanes
    /// per warp.
    pub fn instructions(&self) -> u64 {
        self.engine.instructions()
    }

    /// Loads PTX.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(&self, image: &[u8]) -> Result<Module, LoadError> {
        Module::load(self.arch, self.approximation, &self.engine.memory, image)
    }

    /// Runs a kernel to its end: `grid` blocks of `block` threads with the given bytes of dynamic
    /// shared memory and the argument buffer (missing bytes read as zero).
    ///
    /// # Errors
    /// Fails if the card does not support the grid or block, if an instruction cannot be executed,
    /// or after an invalid access, unless findings are only recorded.
    pub fn launch(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        arguments: &[u8],
    ) -> Result<(), Fault> {
        self.launch_with_stack(kernel, grid, block, dynamic_shared, DEFAULT_STACK, arguments)
    }

    /// Like [`launch`](Self::launch), with the bytes of stack that each thread has for calls of
    /// functions with frames. A thread that needs more is a fault.
    ///
    /// # Errors
    /// The errors of [`launch`](Self::launch).
    pub fn launch_with_stack(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        stack: u32,
        arguments: &[u8],
    ) -> Result<(), Fault> {
        check::shape(self.arch, kernel, grid, block, dynamic_shared)?;
        if let Some(marks) = &kernel.coverage {
            marks.launched();
        }
        let filled = self.arguments.fill(kernel.argument_bytes(), arguments)?;
        let program = &*kernel.program;
        let launch =
            Launch::new(&kernel.name, &self.engine.memory, &self.engine.findings, program.granules, program.atomics)
                .with_local_unit(self.arch.multiprocessors().unit)
                .printing_to(&self.output);
        let of_launch = Grid {
            kernel,
            launch: &launch,
            arguments: &filled,
            grid,
            block,
            dynamic_shared,
            stack,
            clock: &self.engine.clock,
            describe: &Names { program, grid, block },
            instructions: self.engine.counter(),
        };
        let blocks = grid.iter().map(|&n| u64::from(n)).product();
        let resident = self.arch.multiprocessors().resident(kernel, block.iter().product(), dynamic_shared);
        let ran = self.engine.run(blocks, resident, &of_launch);
        launch.outcome(ran, &REPORTED)
    }
}
