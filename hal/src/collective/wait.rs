//! Waiting for other ranks. One place for the whole process, because the calls of a group may
//! belong to several communicators, and each of them may be the next that can go on.

use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// The number of changes so far.
static CHANGES: Mutex<u64> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// Returns the number of changes so far, to look for what has changed afterwards.
pub(super) fn changes() -> u64 {
    *CHANGES.lock()
}

/// Wakes everyone who waits: a rank has arrived, offered, left or failed.
pub(super) fn wake() {
    *CHANGES.lock() += 1;
    CHANGED.notify_all();
}

/// Waits until there are more changes than `seen`, or until a time.
pub(super) fn wait(seen: u64, until: Option<Instant>) {
    let mut changes = CHANGES.lock();
    while *changes == seen {
        match until {
            Some(until) if CHANGED.wait_until(&mut changes, until).timed_out() => return,
            Some(_) => {}
            None => CHANGED.wait(&mut changes),
        }
    }
}

/// Names ranks for people: `rank 1`, `ranks 1, 3`.
pub(super) fn names(ranks: &[usize]) -> String {
    let numbers: Vec<_> = ranks.iter().map(usize::to_string).collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, numbers.join(", "))
}
