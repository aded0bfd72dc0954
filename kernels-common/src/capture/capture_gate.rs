//! What must not happen while a stream is captured: calls that wait for the whole card. Making and
//! destroying a vendor library's handle does, and CUDA then takes every capture on that card for
//! broken (901), also those of other threads and of other openings of the device. So such calls go
//! between captures, and captures between such calls.
//!
//! The gate is one for the process, for openings of one card share what the driver breaks. Neither
//! side waits for ever: a step that waits for a thread which waits here goes on after a while, and
//! its capture may then be refused by the driver, as it would be without a gate.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::time::Duration;

/// How long one side waits for the other. Making the slowest handle, cuDNN's first, takes about a
/// second.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct State {
    captures: usize,
    calls: usize,
}

static STATE: Mutex<State> = Mutex::new(State { captures: 0, calls: 0 });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Captures and calls of this thread, which waits for nobody meanwhile.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock()
}

/// One side's stay, which ends when it is dropped.
#[derive(Debug)]
struct SectionGuard(fn(&mut State) -> &mut usize);

impl SectionGuard {
    fn begin(own: fn(&mut State) -> &mut usize, other: fn(&mut State) -> &mut usize) -> Self {
        let mut state = state();
        if INSIDE.get() == 0 {
            CHANGED.wait_while_for(&mut state, |state| *other(state) > 0, PATIENCE);
        }
        *own(&mut state) += 1;
        INSIDE.set(INSIDE.get() + 1);
        Self(own)
    }
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        *self.0(&mut state()) -= 1;
        INSIDE.set(INSIDE.get() - 1);
        CHANGED.notify_all();
    }
}

/// Held by the thread that captures, as long as it does.
#[derive(Debug)]
pub(crate) struct Capturing {
    _guard: SectionGuard,
}

impl Capturing {
    /// Waits for calls of other threads that would break the capture.
    pub(crate) fn begin() -> Self {
        Self { _guard: SectionGuard::begin(|state| &mut state.captures, |state| &mut state.calls) }
    }
}

/// Does what would break captures when no other thread captures.
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
                        // The thread that captures does not wait for itself.
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
