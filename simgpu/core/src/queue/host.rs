//! Functions of the host, and the work behind them.
//!
//! Such a function may wait for the thread that enqueued it, for example at a channel, so no call
//! that enqueues or waits may run it itself: it would wait for its own caller. Each stream calls
//! its functions on a thread of its own, made for the first of them, so that a function may also
//! wait for one of another stream.
//!
//! Calls do not wait for such a function, so the work behind it is left pending when they return.
//! When it can run, it gets threads that do nothing else. The function's own thread must not run
//! it: a kernel may wait for what the next function of the stream writes. For the same reason,
//! work that can run at the same time does not share one thread.

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
pub(super) struct HostThread(Sender<Handed>);

/// A started task for another thread.
struct Handed {
    /// Also keeps the queues until the task has ended. An idle thread keeps nothing: it would be in
    /// the way of its own end.
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

/// Calls functions.
fn serve(calls: Receiver<Handed>) {
    for Handed { queues, task, started } in calls {
        let outcome = started.run();
        drop(queues.end(task, started.stream, outcome));
    }
}

impl Handed {
    /// Hands it over: a function of the host to the thread of its stream, other work to a new one.
    fn give(self, state: &mut State) -> io::Result<()> {
        if self.started.needs_its_own_thread() {
            return thread::Builder::new().name("left work".into()).spawn(move || self.go_on()).map(drop);
        }
        let stream = self.started.stream;
        // A destroyed stream has no place for its thread, which then serves this call alone.
        let mut alone = None;
        let place = state.streams.get_mut(&stream).map_or(&mut alone, |stream| &mut stream.host);
        let thread = match place {
            Some(thread) => thread,
            None => place.insert(HostThread::new(stream)?),
        };
        // The thread receives until its sender is dropped, so that this cannot fail.
        thread.0.send(self).map_err(|_| io::Error::other("the thread of the stream has ended"))
    }

    /// Runs it. Goes on with one of the tasks that were left behind it, and hands over the others.
    fn go_on(self) {
        let Self { queues, mut task, mut started } = self;
        loop {
            let outcome = started.run();
            let mut state = queues.state.lock();
            let mut left = state.end(task, started.stream, outcome);
            let own = left.iter().position(|(_, started)| started.needs_its_own_thread()).map(|at| left.remove(at));
            queues.hand_over(&mut state, left);
            queues.ended.notify_all();
            let Some(next) = own else { return };
            (task, started) = next;
        }
    }
}

impl Queues {
    /// Hands started tasks to other threads.
    pub(super) fn hand_over(&self, state: &mut State, tasks: Vec<(TaskId, Started)>) {
        for (task, started) in tasks {
            let stream = started.stream;
            let Err(why) = (Handed { queues: self.share(), task, started }).give(state) else { continue };
            let fault = Fault::new(format!("no thread can be started for work of a stream: {why}"));
            let left = state.end(task, stream, Err(Failure::new(fault)));
            // What comes after a failure needs no thread.
            debug_assert!(left.is_empty());
            self.ended.notify_all();
        }
    }

    /// Has threads call the pending functions of the host and do what these wait for, although
    /// nobody waits for them. It may be called from work: of a function that waits for another one.
    pub fn urge(&self) {
        let mut state = self.state.lock();
        let ready = state.tasks.leave_calls();
        let mut for_threads = Vec::new();
        for task in ready {
            let started = state.tasks.start(task);
            if started.needs_a_thread() {
                for_threads.push((task, started));
            } else {
                let (stream, outcome) = (started.stream, started.run());
                for_threads.extend(state.end(task, stream, outcome));
            }
        }
        self.hand_over(&mut state, for_threads);
        self.ended.notify_all();
    }

    /// Runs a task at once in eager mode. Returns when it has ended, or waits only for work that
    /// threads do; it is then left to them.
    pub(super) fn eagerly<'a>(&'a self, mut state: MutexGuard<'a, State>, task: TaskId) {
        let mut last = None;
        while self.mode == Mode::Eager && state.tasks.is_pending(task) {
            let next = state.tasks.pick(&[task], Mode::Eager);
            if next.is_none() && state.tasks.leave(task) {
                return;
            }
            state = self.run_or_wait(state, next, &mut last);
        }
    }
}
