//! Keeps captures apart from calls that synchronise the whole device. Creating and destroying a
//! vendor library's handle does so, and CUDA then invalidates every capture on that device (error
//! 901), including those of other threads and of other openings of the device. Such calls therefore
//! wait until no capture is running, and captures wait until no such call is running.
//!
//! There is one gate per process, because all openings of one device are affected. Neither side
//! waits forever: if a step waits for a thread that waits here, that thread continues after a
//! timeout. The driver may then reject its capture, as it would without a gate.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
#[cfg(not(loom))]
use std::sync::LazyLock;
use std::time::Duration;

/// The longest time that one side waits for the other. Creating the slowest handle, the first one
/// of cuDNN, takes about a second.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct State {
    captures: usize,
    calls: usize,
}

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[cfg(not(loom))]
static GATE: LazyLock<Gate> = LazyLock::new(Gate::default);

#[cfg(loom)]
loom::lazy_static! {
    static ref GATE: Gate = Gate::default();
}

#[cfg(not(loom))]
thread_local! {
    /// The number of captures and calls of this thread. While it is not 0, the thread does not wait
    /// for others.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static INSIDE: Cell<usize> = Cell::new(0);
}

fn state() -> MutexGuard<'static, State> {
    GATE.state.lock()
}

/// Marks one side as active until it is dropped.
#[derive(Debug)]
struct SectionGuard(fn(&mut State) -> &mut usize);

impl SectionGuard {
    fn begin(own: fn(&mut State) -> &mut usize, other: fn(&mut State) -> &mut usize) -> Self {
        let mut state = state();
        if INSIDE.with(Cell::get) == 0 {
            GATE.changed.wait_while_for(&mut state, |state| *other(state) > 0, PATIENCE);
        }
        *own(&mut state) += 1;
        INSIDE.with(|inside| inside.set(inside.get() + 1));
        Self(own)
    }
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        *self.0(&mut state()) -= 1;
        INSIDE.with(|inside| inside.set(inside.get() - 1));
        GATE.changed.notify_all();
    }
}

/// Held by the capturing thread during the capture.
#[derive(Debug)]
pub(crate) struct Capturing {
    _guard: SectionGuard,
}

impl Capturing {
    /// Waits for calls of other threads that would invalidate the capture.
    pub(crate) fn begin() -> Self {
        Self { _guard: SectionGuard::begin(|state| &mut state.captures, |state| &mut state.calls) }
    }
}

/// Runs a call that would invalidate captures, when no other thread is capturing.
pub(crate) fn between_captures<T>(call: impl FnOnce() -> T) -> T {
    let _guard = SectionGuard::begin(|state| &mut state.calls, |state| &mut state.captures);
    call()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn calls_and_captures_of_different_threads_do_not_meet() {
        let (capturing, met, rounds) = (AtomicUsize::new(0), AtomicBool::new(false), 200);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let _capture = Capturing::begin();
                        capturing.fetch_add(1, Ordering::SeqCst);
                        // The capturing thread does not wait for itself.
                        between_captures(std::thread::yield_now);
                        capturing.fetch_sub(1, Ordering::SeqCst);
                    }
                });
                scope.spawn(|| {
                    for _ in 0..rounds {
                        between_captures(|| {
                            if capturing.load(Ordering::SeqCst) > 0 {
                                met.store(true, Ordering::SeqCst);
                            }
                            std::thread::yield_now();
                        });
                    }
                });
            }
        });
        assert!(!met.into_inner());
    }
}
