//! Runs the launches of a simulated GPU of any vendor: host threads with their states, a clock, and
//! a count of executed instructions.

use crate::finding::{Fault, Findings};
use crate::memory::Memory;
use crate::schedule::{Schedule, States};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine of one GPU. `S` is the state of a host thread that runs work groups.
pub struct Engine<S> {
    /// The GPU's memory.
    pub memory: Arc<Memory>,
    /// The collector of findings.
    pub findings: Arc<Findings>,
    /// The time that kernels read; it advances with executed instructions.
    pub clock: AtomicU64,
    schedule: Schedule,
    states: States<S>,
    instructions: AtomicU64,
}

impl<S: Send> Engine<S> {
    /// Creates an engine that runs work groups on `threads` host threads.
    ///
    /// # Errors
    /// Fails if the threads cannot be started.
    pub fn new(memory: Arc<Memory>, findings: Arc<Findings>, threads: usize) -> Result<Self, Fault> {
        let schedule =
            Schedule::new(threads).map_err(|e| Fault::new(format!("cannot start the simulated GPU's threads: {e}")))?;
        Ok(Self {
            memory,
            findings,
            clock: AtomicU64::new(0),
            schedule,
            states: States::new(),
            instructions: AtomicU64::new(0),
        })
    }

    /// Returns the number of executed instructions, multiplied by the lanes of a wave.
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Runs `body` for each work group of a launch. `body` returns how many instructions the
    /// group's waves of `width` lanes executed, and the group's result.
    ///
    /// # Errors
    /// Returns the first error of a group.
    pub fn run(
        &self,
        groups: u64,
        width: usize,
        make: impl Fn() -> S + Sync,
        body: impl Fn(&mut S, u32) -> (u64, Result<(), Fault>) + Sync,
    ) -> Result<(), Fault> {
        self.schedule.run(groups, &self.states, make, |state, index| {
            let (executed, outcome) = body(state, index as u32);
            self.instructions.fetch_add(executed * width as u64, Ordering::Relaxed);
            outcome
        })
    }
}

/// Returns the coordinates of a linear index in a grid or a block.
pub fn coordinates(index: u32, extent: [u32; 3]) -> [u32; 3] {
    [index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]]
}
