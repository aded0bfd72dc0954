//! A rank's communicator: its place in a group, what it has in progress, and what has become of it.

use crate::call::Call;
use crate::launch;
use crate::link::Link;
use crate::request::{Message, Request, Seat};
use crate::status::{Failure, IN_PROGRESS, INTERNAL_ERROR, SUCCESS, SYSTEM_ERROR, Status, UNHANDLED_CUDA_ERROR};
use crate::transfer::{Direction, Transfer};
use isobit_simgpu_library_common::{Handles, Runtime, Stream, Vendor};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Every communicator of the process.
pub(crate) static COMMUNICATORS: Handles<Communicator> = Handles::new();

/// A collective: its hub, group and number.
type Collective = (String, usize, u64);

/// The thread and the rank that have asked for a collective outside a group.
static ASKED: Mutex<Option<HashMap<Collective, (ThreadId, usize)>>> = Mutex::new(None);

/// How long the end of a communicator waits for work that a failed stream will never do.
const PATIENCE: Duration = Duration::from_secs(1);

/// A rank's communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    vendor: &'static Vendor,
    /// The device that was current when it was made.
    pub(crate) device: c_int,
    /// Whether its calls wait until they are done.
    pub(crate) is_blocking: bool,
    place: OnceLock<Place>,
    state: Mutex<State>,
    /// Notified when work or a call has ended.
    ended: Condvar,
}

/// Where a communicator is, once all ranks have come.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) link: Link,
    pub(crate) seat: Seat,
    pub(crate) ranks: usize,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<Failure>,
    /// Calls that do not block and are not done.
    calls: usize,
    /// Work of streams that is not done; of graphs only what runs.
    works: usize,
    is_finalized: bool,
    streams: Vec<Stream>,
    splits: u64,
    /// The collectives and messages that were asked for, and those that are in graphs.
    asked: [Counters; 2],
}

#[derive(Debug, Default)]
struct Counters {
    collectives: u64,
    /// Messages by direction, as a boolean of whether they are sent, and peer.
    messages: HashMap<(bool, usize), u64>,
}

/// What a rank does when its stream comes to it. Addresses are numbers, because the memory belongs
/// to the program.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Meet { call: Call, send: usize, receive: usize },
    Exchange(Vec<(Transfer, usize)>),
}

impl Communicator {
    pub(crate) fn new(vendor: &'static Vendor, device: c_int, is_blocking: bool) -> Self {
        let (place, state) = (OnceLock::new(), Mutex::default());
        Self { vendor, device, is_blocking, place, state, ended: Condvar::new() }
    }

    fn runtime(&self) -> Result<&'static Runtime, Failure> {
        self.vendor.runtime().map_err(|why| Failure::new(INTERNAL_ERROR, why))
    }

    /// Sets the place, when all ranks have come.
    pub(crate) fn settle(&self, place: Place) {
        self.place.get_or_init(|| place);
    }

    /// Returns the place, if there is one.
    pub(crate) fn place(&self) -> Result<&Place, Failure> {
        let none = || Failure::argument("the communicator is not made yet, or could not be made");
        self.place.get().ok_or_else(none)
    }

    /// Returns the place of a communicator that can do something.
    pub(crate) fn ready(&self) -> Result<&Place, Failure> {
        let state = self.state.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        if state.calls > 0 {
            return Err(Failure::argument("an earlier call of the communicator, which does not block, is not done"));
        }
        if state.is_finalized {
            return Err(Failure::usage("the communicator is finalized"));
        }
        self.place()
    }

    /// Records a failure, unless there is one.
    pub(crate) fn fail(&self, failure: Failure) {
        self.state.lock().failure.get_or_insert(failure);
    }

    /// Counts a call that does not block.
    pub(crate) fn begin_call(&self) {
        self.state.lock().calls += 1;
    }

    /// Counts the end of such a call.
    pub(crate) fn end_call(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.fail(failure);
        }
        self.state.lock().calls -= 1;
        self.ended.notify_all();
    }

    /// Returns what has become of the communicator.
    pub(crate) fn asynchronous_error(&self) -> Result<Status, Failure> {
        {
            let state = self.state.lock();
            match &state.failure {
                Some(failure) => return Err(failure.clone()),
                None if state.calls > 0 => return Ok(IN_PROGRESS),
                None => {}
            }
        }
        let Some(Place { link, seat, .. }) = self.place.get() else { return Ok(SUCCESS) };
        link.call(Request::Ask { seat: *seat }).map(|_| SUCCESS).inspect_err(|failure| self.fail(failure.clone()))
    }

    /// Returns the number of the next split.
    pub(crate) fn next_split(&self) -> u64 {
        let mut state = self.state.lock();
        state.splits += 1;
        state.splits - 1
    }

    /// Returns the numbers of work: one for a collective, one for each message. What is captured
    /// into graphs has numbers of its own.
    fn numbers(&self, work: &Work, captured: bool) -> Vec<u64> {
        let mut state = self.state.lock();
        let Counters { collectives, messages } = &mut state.asked[usize::from(captured)];
        let next = |counter: &mut u64| std::mem::replace(counter, *counter + 1);
        match work {
            Work::Meet { .. } => vec![next(collectives)],
            Work::Exchange(transfers) => {
                let route = |(transfer, _): &(Transfer, usize)| (transfer.direction == Direction::Send, transfer.peer);
                transfers.iter().map(|transfer| next(messages.entry(route(transfer)).or_default())).collect()
            }
        }
    }

    /// Enqueues work. What is captured meets, in each launch, the same launch of the same work in
    /// the graphs of the other ranks.
    pub(crate) fn enqueue(self: &Arc<Self>, stream: *mut c_void, work: Work, in_group: bool) -> Result<(), Failure> {
        let (runtime, stream) = (self.runtime()?, Stream(stream));
        let refused =
            |code| Failure::new(UNHANDLED_CUDA_ERROR, format!("the runtime refuses the stream: error {code}"));
        let captures = !stream.0.is_null() && runtime.is_capturing(stream).map_err(refused)?;
        let (numbers, launches) = (self.numbers(&work, captures), AtomicU64::new(0));
        if !captures && !in_group {
            self.refuse_two_ranks_of_a_thread(&work, &numbers)?;
        }
        {
            let mut state = self.state.lock();
            state.works += usize::from(!captures);
            if !state.streams.contains(&stream) {
                state.streams.push(stream);
            }
        }
        let me = self.clone();
        let run = move || {
            if !captures {
                return me.run(&work, &numbers);
            }
            me.state.lock().works += 1;
            let n = launches.fetch_add(1, Ordering::Relaxed);
            let numbers: Vec<u64> = numbers.iter().map(|number| launch::join(*number, n)).collect();
            me.run(&work, &numbers);
        };
        runtime.meet(self.device, stream, run).map_err(|code| {
            self.state.lock().works -= usize::from(!captures);
            refused(code)
        })
    }

    /// Fails if the calling thread has asked for the same collective for another rank, without a
    /// group: NCCL may then never come to the second call.
    fn refuse_two_ranks_of_a_thread(&self, work: &Work, numbers: &[u64]) -> Result<(), Failure> {
        let (Work::Meet { call, .. }, &[number]) = (work, numbers) else { return Ok(()) };
        let Place { link, seat, .. } = self.place()?;
        let (key, me) = ((link.name().to_owned(), seat.group, number), (thread::current().id(), seat.rank));
        let before = ASKED.lock().get_or_insert_default().insert(key, me);
        let Some((_, other)) = before.filter(|(thread, rank)| *thread == me.0 && *rank != me.1) else { return Ok(()) };
        let (name, rank) = (call.kind.name(), seat.rank);
        let why = format!(
            "a thread calls {name} for ranks {other} and {rank} outside a group: it may never come to the second call"
        );
        self.runtime()?.find(false, name, &why);
        let failure = Failure::usage(why.clone());
        self.fail(failure.clone());
        // The hub keeps another failure, for the other ranks.
        let _ = link.call(Request::Fail { seat: *seat, why });
        Err(failure)
    }

    /// Does work, and records its failure.
    fn run(&self, work: &Work, numbers: &[u64]) {
        let outcome = self.attempt(work, numbers);
        if let (Work::Meet { .. }, &[number], Ok(Place { link, seat, .. })) = (work, numbers, self.place()) {
            let key = (link.name().to_owned(), seat.group, number);
            let mut asked = ASKED.lock();
            let asked = asked.get_or_insert_default();
            if asked.get(&key).is_some_and(|(_, rank)| *rank == seat.rank) {
                asked.remove(&key);
            }
        }
        let mut state = self.state.lock();
        if let Err(failure) = outcome {
            state.failure.get_or_insert(failure);
        }
        state.works -= 1;
        self.ended.notify_all();
    }

    fn attempt(&self, work: &Work, numbers: &[u64]) -> Result<(), Failure> {
        let Place { link, seat, ranks } = self.place()?;
        match work {
            Work::Meet { call, send, receive } => {
                let (sent, received) = (call.sent(seat.rank, *ranks), call.received(seat.rank, *ranks));
                let data = self.read(*send, sent, call.kind.name())?;
                self.check(*receive, received, true, call.kind.name())?;
                let request = Request::Meet { seat: *seat, number: numbers[0], call: call.clone(), data };
                let packet = link.call(request)?;
                write(*receive, packet.parts.first().map_or(&[], Vec::as_slice));
            }
            Work::Exchange(transfers) => {
                let mut messages = Vec::new();
                for ((transfer, at), &number) in transfers.iter().zip(numbers) {
                    let data = match transfer.direction {
                        Direction::Send => self.read(*at, transfer.bytes(), transfer.name())?,
                        Direction::Receive => {
                            self.check(*at, transfer.bytes(), true, transfer.name())?;
                            Vec::new()
                        }
                    };
                    messages.push(Message { transfer: *transfer, number, data });
                }
                let packet = link.call(Request::Exchange { seat: *seat, messages })?;
                let receives = transfers.iter().filter(|(transfer, _)| transfer.direction == Direction::Receive);
                for ((_, at), part) in receives.zip(&packet.parts) {
                    write(*at, part);
                }
            }
        }
        Ok(())
    }

    /// Checks an access to memory of the program. If it may not be made, no rank can go on.
    fn check(&self, at: usize, bytes: usize, write: bool, name: &str) -> Result<(), Failure> {
        let what = format!("{name}: {}", if write { "receive buffer" } else { "send buffer" });
        if bytes == 0 || self.runtime()?.access(std::ptr::with_exposed_provenance(at), bytes, write, &what) {
            return Ok(());
        }
        let Place { link, seat, .. } = self.place()?;
        let why = format!("the {what} of {bytes} bytes at {at:#x} cannot be used");
        let failure = Failure::new(UNHANDLED_CUDA_ERROR, why.clone());
        self.fail(failure.clone());
        // The hub keeps another failure, for the other ranks.
        let _ = link.call(Request::Fail { seat: *seat, why });
        Err(failure)
    }

    fn read(&self, at: usize, bytes: usize, name: &str) -> Result<Vec<u8>, Failure> {
        self.check(at, bytes, false, name)?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: a device address is a host address, and the simulator has checked the access.
        Ok(unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(at), bytes) }.to_vec())
    }

    /// Waits until everything that the communicator was asked for is done.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        while state.calls > 0 {
            self.ended.wait(&mut state);
        }
        drop(state);
        self.finish_works();
    }

    /// Waits until the work of all streams is done.
    fn finish_works(&self) {
        let Ok(runtime) = self.runtime() else { return };
        let streams = self.state.lock().streams.clone();
        // Errors of the work are reported by the program's own waits.
        let failed = streams.into_iter().filter(|stream| !stream.0.is_null()).fold(false, |failed, stream| {
            let captures = runtime.is_capturing(stream).unwrap_or(false);
            (!captures && runtime.synchronize(stream).is_err()) || failed
        });
        let start = Instant::now();
        let mut state = self.state.lock();
        while state.works > 0 {
            if failed && start.elapsed() > PATIENCE {
                return;
            }
            parking_lot::MutexGuard::unlocked(&mut state, || runtime.urge());
            self.ended.wait_for(&mut state, Duration::from_millis(5));
        }
    }

    /// Finalizes the communicator: it is then only good for its end.
    pub(crate) fn finalize(&self) {
        self.finish();
        self.state.lock().is_finalized = true;
    }

    /// Finalizes the communicator on a thread of its own.
    pub(crate) fn finalize_aside(self: Arc<Self>) {
        self.begin_call();
        let me = self.clone();
        let aside = move || {
            me.finish_works();
            me.state.lock().is_finalized = true;
            me.end_call(Ok(()));
        };
        if let Err(error) = thread::Builder::new().name("ncclInProgress".into()).spawn(aside) {
            self.end_call(Err(Failure::new(SYSTEM_ERROR, format!("no thread can be started: {error}"))));
        }
    }

    /// Leaves the group; without its end, if the rest of the work is not to be done.
    pub(crate) fn leave(&self, ended: bool) -> Result<(), Failure> {
        let Some(Place { link, seat, .. }) = self.place.get() else { return Ok(()) };
        let left = link.call(Request::Leave { seat: *seat, ended });
        link.end();
        left.map(drop)
    }
}

/// Writes a result to memory whose access was checked.
fn write(at: usize, bytes: &[u8]) {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(at);
    // SAFETY: the simulator has checked the access to as many bytes as the hub answers.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
}
