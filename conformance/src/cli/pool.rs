//! The cells of a device, several at a time: each thread issues the cases of one cell, so that a
//! GPU has work while a CPU compares.

use isobit::AnyDevice;
use isobit_conformance::cells::Cell;
use isobit_conformance::run::{CellRun, Options, run_cell};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What happens to cells, as a worker tells it. Cells are numbered as they were given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A cell starts.
    Begin {
        /// Which.
        cell: usize,
    },
    /// A case of it starts; told only on request.
    Case {
        /// Which.
        cell: usize,
        /// The index of the case; none for one of the cases that come first.
        index: Option<u64>,
    },
    /// A cell ended.
    Done {
        /// Which.
        cell: usize,
        /// With what.
        run: Box<CellRun>,
    },
}

/// Runs cells on a device, on so many threads. With `trace`, each case is told before it runs.
/// Stops where the device is lost.
pub fn run_cells(
    device: &AnyDevice,
    id: &str,
    cells: &[&Cell],
    options: &Options,
    threads: usize,
    trace: bool,
    tell: impl Fn(Event) + Sync,
) {
    let (next, lost) = (AtomicUsize::new(0), AtomicBool::new(false));
    let turns = RwLock::new(());
    let work = || {
        while !lost.load(Ordering::Relaxed) {
            let cell = next.fetch_add(1, Ordering::Relaxed);
            let Some(&what) = cells.get(cell) else { break };
            let (mut _shared, mut _alone) = (None, None);
            if what.runs_alone() {
                _alone = Some(turns.write());
            } else {
                _shared = Some(turns.read());
            }
            tell(Event::Begin { cell });
            let run = run_cell(device, id, what, options, |index| {
                if trace {
                    tell(Event::Case { cell, index });
                }
            });
            lost.fetch_or(run.lost, Ordering::Relaxed);
            tell(Event::Done { cell, run: Box::new(run) });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, cells.len().max(1)) {
            // Cases reach ranks of six and recipes recurse little, but a driver's stack is its own.
            let thread = std::thread::Builder::new().stack_size(8 << 20);
            thread.spawn_scoped(scope, work).expect("the system can start a thread");
        }
    });
}

/// How many cells run at once: the processors of this machine.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
