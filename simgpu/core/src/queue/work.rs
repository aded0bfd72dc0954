//! The work of a task, and its failures.

use crate::finding::Fault;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A failure of work on a device, with a number that distinguishes equal failures and orders them
/// in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    number: u64,
    pub(super) fault: Fault,
}

impl Failure {
    pub(super) fn new(fault: Fault) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self { number: NUMBER.fetch_add(1, Ordering::Relaxed), fault }
    }

    /// Returns the earlier of two failures.
    pub(super) fn first(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.number < a.number { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

type Run = dyn Fn() -> Result<(), Fault> + Send + Sync;

/// Work to be done in stream order, every time that a graph that contains it is launched.
#[derive(Clone)]
pub struct Work {
    run: Option<Arc<Run>>,
    /// Whether it is a function of the host.
    host: bool,
    /// Whether it waits for other work, and so has a thread to itself.
    meets: bool,
    /// Data of the creator, to be retrieved from the nodes of a graph.
    pub payload: Option<Arc<dyn Any + Send + Sync>>,
}

impl Work {
    /// Creates work from a function.
    pub fn new(run: impl Fn() -> Result<(), Fault> + Send + Sync + 'static) -> Self {
        Self { run: Some(Arc::new(run)), host: false, meets: false, payload: None }
    }

    /// Creates work that is a function of the host. It may wait for any thread of the program, so
    /// it runs on a thread of its stream.
    pub fn host(run: impl Fn() -> Result<(), Fault> + Send + Sync + 'static) -> Self {
        Self { host: true, ..Self::new(run) }
    }

    /// Creates work that waits for work of other streams or processes, which may be enqueued later,
    /// such as one device's part of a collective. It has a thread to itself, because two that wait
    /// for each other may be nodes of one graph, all of whose other functions one thread calls.
    pub fn meeting(run: impl Fn() -> Result<(), Fault> + Send + Sync + 'static) -> Self {
        Self { meets: true, ..Self::host(run) }
    }

    /// Creates work that does nothing: a point in a stream.
    pub fn nothing() -> Self {
        Self { run: None, host: false, meets: false, payload: None }
    }

    /// Creates work that runs the pieces one after the other. A function of the host among them
    /// makes it one.
    pub(super) fn sequence(pieces: Vec<Self>) -> Self {
        let (host, meets) = (pieces.iter().any(Self::is_host), pieces.iter().any(Self::meets));
        let run = move || pieces.iter().filter_map(|piece| piece.run.as_ref()).try_for_each(|run| run());
        Self { host, meets, ..Self::new(run) }
    }

    /// Whether it is a function of the host.
    pub(super) fn is_host(&self) -> bool {
        self.host
    }

    /// Whether it waits for other work.
    pub(super) fn meets(&self) -> bool {
        self.meets
    }

    /// Whether it does nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.run.is_none()
    }

    /// Attaches a payload.
    #[must_use]
    pub fn with_payload(self, payload: Arc<dyn Any + Send + Sync>) -> Self {
        Self { payload: Some(payload), ..self }
    }

    /// Runs the work. A panic becomes a fault, because waiting tasks must learn that the work has
    /// ended.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Some(run) = &self.run else { return Ok(()) };
        let _inside = Inside::enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| run())).unwrap_or_else(|panic| {
            let why = panic.downcast_ref::<String>().map(String::as_str);
            let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let who = if self.host { "a function of the host" } else { "the simulator" };
            Err(Fault::new(format!("{who} panicked: {why}")))
        });
        outcome.map_err(Failure::new)
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.run.is_some() { "Work" } else { "Work::nothing" })
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The number of tasks that have started and not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// The number of tasks that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Counts a task while it exists.
#[derive(Debug)]
pub(super) struct Running(());

impl Running {
    pub(super) fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Running {
    /// The end is counted while the task still counts as running, so that whoever finds no other
    /// task afterwards also finds that it has ended.
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::SeqCst);
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The work that ran when this value was created, to ask whether there is other work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnWork(usize);

impl OwnWork {
    /// Creates the value on the thread that runs a launch.
    pub(crate) fn new() -> Self {
        Self(usize::from(inside_work()))
    }

    /// Whether other threads run work, which may change memory, or are about to.
    pub(crate) fn others_run(self) -> bool {
        RUNNING.load(Ordering::SeqCst) > self.0
    }

    /// Returns the number of tasks that have ended, each of which may have changed memory.
    pub(crate) fn ended() -> u64 {
        ENDED.load(Ordering::SeqCst)
    }
}

/// Whether the current thread is running work of a stream. Such a thread cannot call the queues.
pub fn inside_work() -> bool {
    INSIDE.get()
}

struct Inside;

impl Inside {
    fn enter() -> Self {
        INSIDE.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}
