//! Groups of calls: what a thread asks for between `ncclGroupStart` and `ncclGroupEnd` is done
//! together at the end, so that one thread can act for several ranks.

use crate::communicator::{Communicator, Work};
use crate::status::{Failure, IN_PROGRESS, INTERNAL_ERROR, SUCCESS, SYSTEM_ERROR, Status};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::thread;

/// A call that waits for other ranks.
type Call = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

#[derive(Default)]
struct Batch {
    /// The number of groups that are open.
    depth: usize,
    calls: Vec<(Arc<Communicator>, Call)>,
    works: Vec<(Arc<Communicator>, *mut c_void, Work)>,
    /// Why nothing of it will be done.
    failure: Option<Failure>,
}

thread_local! {
    static BATCH: RefCell<Batch> = RefCell::default();
}

/// Opens a group.
pub(crate) fn start() {
    BATCH.with_borrow_mut(|batch| batch.depth += 1);
}

/// Closes a group. The outermost one does what was asked for.
pub(crate) fn end() -> Result<Status, Failure> {
    let batch = BATCH.with_borrow_mut(|batch| {
        if batch.depth == 0 {
            return Err(Failure::usage("ncclGroupEnd: not in a group call"));
        }
        batch.depth -= 1;
        Ok((batch.depth == 0).then(|| std::mem::take(batch)))
    })?;
    let Some(Batch { calls, works, failure, .. }) = batch else { return Ok(SUCCESS) };
    if let Some(failure) = failure {
        return Err(failure);
    }
    let status = make(calls)?;
    for (communicator, stream, work) in merge(works) {
        communicator.enqueue(stream, work, true)?;
    }
    Ok(status)
}

/// Whether the thread is in a group.
pub(crate) fn is_open() -> bool {
    BATCH.with_borrow(|batch| batch.depth > 0)
}

/// Makes the group of the thread fail at its end, if there is one.
pub(crate) fn spoil(failure: &Failure) {
    BATCH.with_borrow_mut(|batch| {
        if batch.depth > 0 {
            batch.failure.get_or_insert_with(|| failure.clone());
        }
    });
}

/// Makes a call that waits for other ranks: now or at the end of the group and, if the communicator
/// does not block, on a thread of its own.
pub(crate) fn call(
    communicator: Arc<Communicator>,
    call: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<Status, Failure> {
    let call: Call = Box::new(call);
    let now = BATCH.with_borrow_mut(|batch| {
        if batch.depth == 0 {
            return Some((communicator, call));
        }
        batch.calls.push((communicator, call));
        None
    });
    now.map_or(Ok(SUCCESS), |call| make(vec![call]))
}

/// Enqueues work, now or at the end of the group.
pub(crate) fn work(communicator: Arc<Communicator>, stream: *mut c_void, work: Work) -> Result<Status, Failure> {
    if !is_open() {
        return communicator.enqueue(stream, work, false).map(|()| SUCCESS);
    }
    BATCH.with_borrow_mut(|batch| batch.works.push((communicator, stream, work)));
    Ok(SUCCESS)
}

/// Makes calls at the same time, because the ranks of one thread may wait for each other.
fn make(calls: Vec<(Arc<Communicator>, Call)>) -> Result<Status, Failure> {
    let (mut waits, others): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|(communicator, _)| communicator.is_blocking);
    let no_thread = |error| Failure::new(SYSTEM_ERROR, format!("no thread can be started: {error}"));
    let status = if others.is_empty() { SUCCESS } else { IN_PROGRESS };
    for (communicator, call) in others {
        communicator.begin_call();
        let me = communicator.clone();
        let made = thread::Builder::new().name("ncclInProgress".into()).spawn(move || communicator.end_call(call()));
        if let Err(error) = made {
            me.end_call(Err(no_thread(error)));
        }
    }
    let made = |(communicator, call): (Arc<Communicator>, Call)| {
        call().inspect_err(|failure| communicator.fail(failure.clone()))
    };
    let last = waits.pop();
    thread::scope(|scope| {
        let threads = waits.into_iter().map(|call| thread::Builder::new().spawn_scoped(scope, move || made(call)));
        let threads: Vec<_> = threads.collect();
        let first = last.map_or(Ok(()), made);
        let others = threads.into_iter().map(|thread| {
            let joined = thread.map_err(no_thread)?.join();
            joined.unwrap_or_else(|_| Err(Failure::new(INTERNAL_ERROR, "a call has panicked")))
        });
        others.fold(first, Result::and)
    })?;
    Ok(status)
}

/// Joins the messages of a communicator on one stream, which are exchanged at the same time.
fn merge(works: Vec<(Arc<Communicator>, *mut c_void, Work)>) -> Vec<(Arc<Communicator>, *mut c_void, Work)> {
    let mut merged: Vec<(Arc<Communicator>, *mut c_void, Work)> = Vec::new();
    for (communicator, stream, work) in works {
        if let Work::Exchange(more) = &work {
            let same = merged.iter_mut().find_map(|(other, at, before)| match before {
                Work::Exchange(before) if Arc::ptr_eq(other, &communicator) && *at == stream => Some(before),
                _ => None,
            });
            if let Some(before) = same {
                before.extend_from_slice(more);
                continue;
            }
        }
        merged.push((communicator, stream, work));
    }
    merged
}
