//! The threads that call functions of the host.
//!
//! Such a function may wait for the thread that enqueued it, for example at a channel, so no call
//! that enqueues or waits may run it itself: it would wait for its own caller. Each stream calls
//! its functions on a thread of its own, made for the first of them, so that a function may also
//! wait for one of another stream. Work behind a function that has not ended is left pending.

use super::tasks::{Started, TaskId};
use super::work::Failure;
use super::{Mode, Queues, State, StreamId};
use crate::finding::Fault;
use parking_lot::MutexGuard;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The thread of a stream. It ends when this is dropped and all its functions have been called.
#[derive(Debug)]
pub(super) struct HostThread(Sender<Call>);

/// A function to be called.
struct Call {
    /// Also keeps the queues until the function has ended. An idle thread keeps nothing: it would
    /// be in the way of its own end.
    queues: Queues,
    task: TaskId,
    started: Started,
}

impl HostThread {
    fn new(stream: StreamId) -> io::Result<Self> {
        let (sender, calls) = channel();
        thread::Builder::new().name(format!("stream {:#x}", stream.0)).spawn(move || serve(calls))?;
        Ok(Self(sender))
    }
}

/// Calls functions, and runs the work that was left behind each of them.
fn serve(calls: Receiver<Call>) {
    for Call { queues, task, started } in calls {
        let outcome = started.run();
        let mut state = queues.end(task, started.stream, outcome);
        // Nobody waits for work whose enqueuing call has returned, so this thread runs it. Deferred
        // work has a waiting thread.
        if queues.mode == Mode::Eager {
            while let Some(next) = state.tasks.first_ready() {
                state = queues.run(state, next);
            }
        }
    }
}

impl Queues {
    /// Hands a started function of the host to the thread of its stream.
    pub(super) fn call<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        task: TaskId,
        started: Started,
    ) -> MutexGuard<'a, State> {
        let stream = started.stream;
        let call = Call { queues: self.share(), task, started };
        let Err(why) = state.hand_over(stream, call) else { return state };
        drop(state);
        let fault = Fault::new(format!("no thread can be started for a function of the host: {why}"));
        self.end(task, stream, Err(Failure::new(fault)))
    }

    /// Runs a task at once in eager mode. Returns when it has ended, or waits for functions of the
    /// host alone, whose threads run it then.
    pub(super) fn eagerly<'a>(&'a self, mut state: MutexGuard<'a, State>, task: TaskId) {
        let mut running = None;
        while self.mode == Mode::Eager && state.tasks.is_pending(task) {
            let next = state.tasks.pick(&[task], Mode::Eager);
            if next.is_none() && state.tasks.waits_for_calls_alone(task) {
                return;
            }
            state = self.run_or_wait(state, next, &mut running);
        }
    }
}

impl State {
    fn hand_over(&mut self, stream: StreamId, call: Call) -> io::Result<()> {
        // A destroyed stream has no place for its thread, which then serves this call alone.
        let mut alone = None;
        let place = self.streams.get_mut(&stream).map_or(&mut alone, |stream| &mut stream.host);
        let thread = match place {
            Some(thread) => thread,
            None => place.insert(HostThread::new(stream)?),
        };
        // The thread receives until its sender is dropped, so that this cannot fail.
        thread.0.send(call).map_err(|_| io::Error::other("the thread of the stream has ended"))
    }
}
