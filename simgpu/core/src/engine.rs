//! What runs the launches of a simulated card, whichever vendor's it is: host threads with their
//! states, a clock, and a count of what was executed.

use crate::finding::{Fault, Findings};
use crate::memory::Memory;
use crate::schedule::{Schedule, States};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine of one card. `S` is the state of a host thread that runs work groups.
pub struct Engine<S> {
    /// The card's memory.
    pub memory: Arc<Memory>,
    /// Where wrong accesses are told.
    pub findings: Arc<Findings>,
    /// What kernels read as the time: it advances with what is executed.
    pub clock: AtomicU64,
    schedule: Schedule,
    states: States<S>,
    instructions: AtomicU64,
}

impl<S: Send> Engine<S> {
    /// An engine whose work groups run on this many host threads.
    ///
    /// # Errors
    /// The host gives no threads.
    pub fn new(memory: Arc<Memory>, findings: Arc<Findings>, threads: usize) -> Result<Self, Fault> {
        let schedule =
            Schedule::new(threads).map_err(|e| Fault::new(format!("no threads for the simulated GPU: {e}")))?;
        Ok(Self {
            memory,
            findings,
            clock: AtomicU64::new(0),
            schedule,
            states: States::new(),
            instructions: AtomicU64::new(0),
        })
    }

    /// Instructions executed since the start, times the lanes of a wave.
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Runs `body` for each work group of a launch. It answers how many instructions the group's
    /// waves of `width` lanes executed, and how it ended.
    ///
    /// # Errors
    /// The first that a group gives.
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

/// The coordinates of a linear index in a grid or a block.
pub fn coordinates(index: u32, extent: [u32; 3]) -> [u32; 3] {
    [index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]]
}
