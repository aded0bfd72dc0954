//! Runs work groups on host threads.
//!
//! A thread runs a group to its end, as long as the group does not wait for another one. A group
//! that waits is parked with its whole state ([`parked`]), and the thread goes on with others.

mod parked;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole_tests;

use crate::queue::OwnWork;
use parked::{Parked, Slot};
use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) use parked::Full;
pub use parked::Stuck;

/// A launch that the calling thread finishes within this time is not shared with other threads,
/// because waking them would cost more.
const ALONE: Duration = Duration::from_micros(40);
/// A thread takes `1 / SHARES` of its share of the remaining groups at once.
const SHARES: u64 = 8;

/// The limits of one turn of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Steps after which the turn may end.
    pub steps: u64,
    /// Backward jumps after which a wave's own turn ends, if it does not end earlier; and rounds of
    /// all waves after which the group's turn ends although no wave's own turn did.
    pub patience: u32,
    /// Whether the turn is watched: before each instruction, its cache of an allocation is
    /// forgotten (see [`watch`](crate::watch)).
    pub watched: bool,
}

/// Rounds after which the turn of a group ends in which waves meet at barriers only. Loops with
/// barriers in which a group waits for another one go round more often than others.
const ROUNDS: u32 = 1 << 14;

impl Turn {
    /// Whether the turn ends after a round in which every wave that can run has run. `executed` is
    /// the number of steps of the turn, `rounds` that of its rounds, and `turned` says whether a
    /// wave's own turn ended in this round, and not only at a barrier.
    pub fn ends(&self, executed: u64, rounds: u32, turned: bool) -> bool {
        executed >= self.steps && (turned || rounds >= self.patience.min(ROUNDS))
    }
}

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The group has ended.
    Ended,
    /// The turn is over.
    Paused,
}

/// The groups of one launch.
pub trait Groups: Sync {
    /// Everything about one running group. It is reused for other groups, also of other launches.
    type State: Send;
    /// Why a group, and with it the launch, fails.
    type Error: Send;

    /// Creates a state.
    fn state(&self) -> Self::State;

    /// Makes a state that of a group which has not run yet.
    fn start(&self, state: &mut Self::State, group: u64);

    /// Runs a group from where its last turn ended.
    ///
    /// # Errors
    /// The group cannot continue.
    fn run(&self, state: &mut Self::State, turn: &Turn) -> Result<Progress, Self::Error>;

    /// Returns a hash of what determines how the group continues, except for global memory and
    /// clocks.
    fn digest(&self, state: &Self::State) -> u64;

    /// Returns the host memory that a state takes, in bytes.
    fn bytes(&self, state: &Self::State) -> usize;

    /// Returns the error of a launch whose groups wait for ever.
    fn deadlock(&self, stuck: &Stuck<'_, Self::State>) -> Self::Error;
}

/// A pool of threads for the launches of a device.
pub struct Schedule {
    /// The threads besides the calling one; `None` for one thread.
    helpers: Option<ThreadPool>,
    threads: usize,
}

impl Schedule {
    /// Creates a schedule for `threads` threads, including the launching thread.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot start the threads.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let builder = || ThreadPoolBuilder::new().num_threads(threads - 1).thread_name(|i| format!("simgpu-{}", i + 1));
        let helpers = (threads > 1).then(|| builder().build()).transpose()?;
        Ok(Self { helpers, threads: threads.max(1) })
    }

    /// Returns the number of threads that run groups.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs each group below `groups` once, on the calling thread and, for longer launches, also
    /// on the others. Each thread takes the next groups in ascending order. At most `resident`
    /// groups, or a few more, have started and not ended at any time; among these, every group
    /// makes progress, so that one may wait for another. A thread uses a state from `states` or a
    /// new one, and puts it back afterwards.
    ///
    /// # Errors
    ///
    /// Returns the first error of a group; groups that have not started by then are skipped.
    pub fn run<W: Groups>(
        &self,
        groups: u64,
        resident: u64,
        states: &States<W::State>,
        work: &W,
    ) -> Result<(), W::Error> {
        let launch = Launch {
            work,
            states,
            next: AtomicU64::new(0),
            started: AtomicU64::new(0),
            groups,
            threads: self.threads as u64,
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            parked: Parked::new(resident, OwnWork::new()),
        };
        match &self.helpers {
            Some(helpers) if groups > 1 => helpers.in_place_scope(|scope| {
                let (started, launch) = (Instant::now(), &launch);
                let mut alone = true;
                let mut beat = || {
                    if alone && started.elapsed() > ALONE {
                        alone = false;
                        (1..self.threads).for_each(|_| scope.spawn(|_| launch.share(&mut || {})));
                    }
                };
                launch.share(&mut beat);
            }),
            _ => launch.share(&mut || {}),
        }
        let error = launch.error.into_inner().or_else(|| launch.parked.deadlock(work));
        launch.parked.clear(states);
        states.keep(self.threads);
        error.map_or(Ok(()), Err)
    }
}

/// Group states between launches: data that is expensive to create and usable for any launch.
pub struct States<S>(Mutex<Vec<S>>);

impl<S> Default for States<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> States<S> {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&self) -> Option<S> {
        self.0.lock().pop()
    }

    fn put(&self, state: S) {
        self.0.lock().push(state);
    }

    /// Drops all but `most` states. A launch whose groups waited leaves many.
    fn keep(&self, most: usize) {
        self.0.lock().truncate(most);
    }
}

/// A running launch.
struct Launch<'a, W: Groups> {
    work: &'a W,
    states: &'a States<W::State>,
    /// The first group that no thread has claimed.
    next: AtomicU64,
    started: AtomicU64,
    groups: u64,
    threads: u64,
    failed: AtomicBool,
    error: Mutex<Option<W::Error>>,
    parked: Parked<W::State>,
}

impl<W: Groups> Launch<'_, W> {
    /// Runs groups on one thread until none is left. Calls `beat` after each.
    fn share(&self, beat: &mut dyn FnMut()) {
        let new = || self.states.take().unwrap_or_else(|| self.work.state());
        let mut state = new();
        let mut range = 0..0;
        // If there are parked groups, they and the others take turns on the thread.
        let mut parked_next = false;
        let _working = self.parked.works();
        while !self.failed.load(Ordering::Relaxed) {
            let any = self.parked.any();
            if !(any && (parked_next || self.parked.is_full()))
                && let Some(group) = range.next().or_else(|| {
                    range = self.claim()?;
                    range.next()
                })
            {
                parked_next = true;
                self.started.fetch_add(1, Ordering::SeqCst);
                self.work.start(&mut state, group);
                let progress = self.work.run(&mut state, &self.parked.first_turn());
                self.parked.changed();
                match progress {
                    Ok(Progress::Ended) => {}
                    Ok(Progress::Paused) => {
                        let slot = Slot::new(std::mem::replace(&mut state, new()));
                        self.parked.add(self.work.bytes(&slot.state));
                        self.visit(slot);
                    }
                    Err(error) => self.fail(error),
                }
                beat();
            } else {
                parked_next = false;
                let startable = !range.is_empty() || self.next.load(Ordering::Relaxed) < self.groups;
                let _visits = (!startable || self.parked.is_full()).then(|| self.parked.visits());
                match self.parked.take(startable, &self.failed) {
                    Some(slot) => self.visit(slot),
                    None if startable => {}
                    None => break,
                }
            }
        }
        self.states.put(state);
    }

    /// Runs a turn of a group that may be waiting, and parks it again if it has not ended.
    fn visit(&self, mut slot: Slot<W::State>) {
        match slot.turn(self.work, &self.parked) {
            Ok(Progress::Ended) => {
                self.parked.ended();
                self.states.put(slot.state);
            }
            Ok(Progress::Paused) => {
                // Threads may have claimed groups and not started them.
                let unstarted = self.started.load(Ordering::SeqCst) < self.groups;
                if self.parked.park(slot, unstarted) {
                    self.stop();
                }
            }
            Err(error) => {
                self.parked.ended();
                self.fail(error);
            }
        }
    }

    /// Claims the next groups for one thread: many while many remain, one at a time at the end.
    fn claim(&self) -> Option<Range<u64>> {
        let mut from = self.next.load(Ordering::Relaxed);
        loop {
            if from >= self.groups || self.failed.load(Ordering::Relaxed) {
                return None;
            }
            let to = from + ((self.groups - from) / (self.threads * SHARES)).max(1);
            match self.next.compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(from..to),
                Err(now) => from = now,
            }
        }
    }

    fn fail(&self, error: W::Error) {
        self.error.lock().get_or_insert(error);
        self.stop();
    }

    fn stop(&self) {
        self.failed.store(true, Ordering::Relaxed);
        self.parked.wake();
    }
}
