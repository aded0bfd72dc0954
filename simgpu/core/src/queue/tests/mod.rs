//! Tests of the queues. The work logs its own execution, and the tests compare the log with the
//! required order.

mod capture;
mod faults;
mod graphs;
mod host;
mod meetings;
mod precedence;
mod streams;

use super::{Mode, Queues, Work};
use parking_lot::Mutex;
use std::sync::Arc;

const MODES: [Mode; 3] = [Mode::Eager, Mode::Latest, Mode::Needed];

/// A log of executed work.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    /// Returns work that logs a number.
    fn work(&self, number: usize) -> Work {
        let log = self.0.clone();
        Work::new(move || {
            log.lock().push(number);
            Ok(())
        })
    }

    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lock())
    }

    fn seen(&self) -> Vec<usize> {
        self.0.lock().clone()
    }
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn one_device(mode: Mode) -> (Queues, Log) {
    (Queues::new(1, mode), Log::default())
}
