//! Vendor-independent streams, events and graphs: pending work, its dependencies, and when it runs.
//!
//! Work enqueued on a stream becomes a task in one dependency graph. A task waits for the previous
//! task of its stream, for the events that its stream waits for, and according to the rules of the
//! legacy default stream. The [`Mode`] determines how eagerly tasks run. Every order that this
//! module chooses is one that a device could choose. Functions of the host ([`Work::host`]) run on
//! threads of their streams. Other work runs on the thread that enqueues it or waits for it, or,
//! behind a function of the host, on threads of its own.

mod capture;
mod device;
mod error;
mod event;
mod graph;
mod host;
mod stream;
mod tasks;
#[cfg(test)]
mod tests;
mod work;

pub use capture::{CaptureMode, CaptureStatus, exchange_capture_mode};
pub use error::QueueError;
pub use event::EventId;
pub use graph::{Graph, GraphError, GraphExec};
pub use stream::StreamId;
pub(crate) use work::OwnWork;
pub use work::{Work, inside_work};

use capture::Captures;
use device::Device;
use event::Event;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use stream::Stream;
use tasks::Tasks;
use work::Failure;

/// When enqueued work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// During the call that enqueues it; behind a function of the host, when that has ended.
    #[default]
    Eager,
    /// When something waits for it. Unordered work that was enqueued last then runs first, so work
    /// that should have waited for other work overtakes it.
    Latest,
    /// When something waits for it, and then only the work that this needs. Work that nobody waits
    /// for is visibly not done.
    Needed,
}

/// All streams, events and captures of a process, over any number of devices.
#[derive(Debug)]
pub struct Queues {
    mode: Mode,
    state: Arc<Mutex<State>>,
    /// Notified whenever a task ends.
    ended: Arc<Condvar>,
    /// Called at the end of each wait for work.
    after_wait: Arc<OnceLock<fn()>>,
}

#[derive(Debug)]
struct State {
    tasks: Tasks,
    devices: Vec<Device>,
    streams: HashMap<StreamId, Stream>,
    events: HashMap<EventId, Event>,
    captures: Captures,
    next_handle: u64,
}

/// The first number of a stream or an event. Numbers are never reused, so a destroyed one is known
/// to be stale. Small numbers are reserved for the vendors, who give some of them a meaning.
const FIRST_HANDLE: u64 = 0x1000;

impl Queues {
    /// Creates queues for `devices` devices, each with its legacy default stream.
    pub fn new(devices: usize, mode: Mode) -> Self {
        let mut state = State {
            tasks: Tasks::default(),
            devices: Vec::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            captures: Captures::default(),
            next_handle: FIRST_HANDLE,
        };
        for _ in 0..devices {
            state.add_device();
        }
        Self { mode, state: Arc::new(Mutex::new(state)), ended: Arc::default(), after_wait: Arc::default() }
    }

    /// Returns these queues for another thread.
    fn share(&self) -> Self {
        Self {
            mode: self.mode,
            state: self.state.clone(),
            ended: self.ended.clone(),
            after_wait: self.after_wait.clone(),
        }
    }

    /// Sets a function that is called at the end of each wait for work, even if the work failed.
    /// Only the first one is used.
    pub fn after_wait(&self, function: fn()) {
        self.after_wait.get_or_init(|| function);
    }

    /// Ends a wait for work.
    fn waited(&self) {
        if let Some(function) = self.after_wait.get() {
            function();
        }
    }

    /// Returns the mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Runs tasks in the order of the mode until all of `targets` have ended.
    fn drive<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut targets: Vec<tasks::TaskId>,
        mode: Mode,
    ) -> MutexGuard<'a, State> {
        let mut last = None;
        loop {
            targets.retain(|&task| state.tasks.is_pending(task));
            if targets.is_empty() {
                return state;
            }
            let next = state.tasks.pick(&targets, mode);
            state = self.run_or_wait(state, next, &mut last);
        }
    }

    /// Runs a task as [`run_one`](Self::run_one) does, or waits for the end of another one if there
    /// is none.
    fn run_or_wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        task: Option<tasks::TaskId>,
        last: &mut Option<tasks::Started>,
    ) -> MutexGuard<'a, State> {
        let Some(task) = task else {
            *last = None;
            self.ended.wait(&mut state);
            return state;
        };
        self.run_one(state, task, last)
    }

    /// Runs one task that is ready, or has it called by the thread of its stream. `last` is the
    /// task that the caller has run before: it counts as running until the next one does, so that
    /// what waits for the next one is not taken for a deadlock.
    fn run_one<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        task: tasks::TaskId,
        last: &mut Option<tasks::Started>,
    ) -> MutexGuard<'a, State> {
        let started = state.tasks.start(task);
        if started.is_call() {
            self.hand_over(&mut state, vec![(task, started)]);
            return state;
        }
        *last = None;
        drop(state);
        let outcome = started.run();
        let state = self.end(task, started.stream, outcome);
        *last = Some(started);
        state
    }

    /// Ends a task of a stream, and gives what was left behind it to other threads.
    fn end(&self, task: tasks::TaskId, stream: StreamId, outcome: Result<(), Failure>) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let left = state.end(task, stream, outcome);
        self.hand_over(&mut state, left);
        self.ended.notify_all();
        state
    }
}

impl State {
    fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    fn add_device(&mut self) -> usize {
        let (device, legacy) = (self.devices.len(), StreamId(self.handle()));
        self.streams.insert(legacy, Stream::new(device, true));
        self.devices.push(Device::new(legacy));
        device
    }

    fn stream(&self, stream: StreamId) -> Result<&Stream, QueueError> {
        self.streams.get(&stream).ok_or(QueueError::UnknownStream)
    }

    /// Ends a task of a stream. Starts what was left behind it, and returns what of that needs a
    /// thread.
    fn end(
        &mut self,
        task: tasks::TaskId,
        stream: StreamId,
        outcome: Result<(), Failure>,
    ) -> Vec<(tasks::TaskId, tasks::Started)> {
        let mut for_threads = Vec::new();
        let mut ended = vec![(task, stream, outcome)];
        while let Some((task, stream, outcome)) = ended.pop() {
            if let Err(failure) = &outcome {
                self.poison(stream, failure);
            }
            for task in self.tasks.end(task, outcome) {
                let started = self.tasks.start(task);
                if started.needs_a_thread() {
                    for_threads.push((task, started));
                } else {
                    ended.push((task, started.stream, started.run()));
                }
            }
        }
        for_threads
    }

    /// Marks a stream as failed until the failure is reported.
    fn poison(&mut self, stream: StreamId, failure: &Failure) {
        match self.streams.get_mut(&stream) {
            Some(stream) => stream.poison(failure),
            None => self.devices.iter_mut().for_each(|device| device.poison_orphan(stream, failure)),
        }
    }
}
