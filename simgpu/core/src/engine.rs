//! Runs the launches of a simulated GPU of any vendor: host threads, states of groups, a clock, and
//! a count of executed instructions.

use crate::finding::{Fault, Findings};
use crate::memory::Memory;
use crate::schedule::{Groups, Schedule, States};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine of one GPU. `S` is the state of a running work group.
pub struct Engine<S> {
    /// The GPU's memory.
    pub memory: Arc<Memory>,
    /// The collector of findings.
    pub findings: Arc<Findings>,
    /// The time that kernels read; the number of times that it was read.
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

    /// Returns the count of executed instructions, to which the groups of a launch add.
    pub fn counter(&self) -> &AtomicU64 {
        &self.instructions
    }

    /// Runs the work groups of a launch. `resident` is the number of them that the GPU holds at a
    /// time.
    ///
    /// # Errors
    /// Returns the first error of a group, or a deadlock.
    pub fn run(&self, groups: u64, resident: u64, work: &impl Groups<State = S, Error = Fault>) -> Result<(), Fault> {
        self.schedule.run(groups, resident, &self.states, work)
    }
}

/// Returns the coordinates of a linear index in a grid or a block.
pub fn coordinates(index: u32, extent: [u32; 3]) -> [u32; 3] {
    [index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]]
}
