//! Runs several cells of a device at once: each thread issues the cases of one cell, so that a GPU
//! has work while a CPU core compares.

use super::fail_fast::is_failure;
use isobit::AnyDevice;
use isobit_conformance::cells::Cell;
use isobit_conformance::run::{CellRun, Options, run_cell};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The progress of cells, as a worker reports it. Cells are numbered in the order given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A cell starts.
    Begin {
        /// The cell.
        cell: usize,
    },
    /// A case of it starts; reported only on request.
    Case {
        /// The cell.
        cell: usize,
        /// The index of the case; `None` for one of the cases that run first.
        index: Option<u64>,
    },
    /// A cell is finished.
    Done {
        /// The cell.
        cell: usize,
        /// Its results.
        run: Box<CellRun>,
    },
}

/// Runs cells on a device, on `threads` threads. With `trace`, reports each case before it runs.
/// Stops if the device is lost, and at the first failure if the options say so.
pub fn run_cells(
    device: &AnyDevice,
    id: &str,
    cells: &[&Cell],
    options: &Options,
    threads: usize,
    trace: bool,
    tell: impl Fn(Event) + Sync,
) {
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let turns = RwLock::new(());
    let work = || {
        while !ended.load(Ordering::Relaxed) {
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
            ended.fetch_or(run.lost || (options.fail_fast && is_failure(&run.row)), Ordering::Relaxed);
            tell(Event::Done { cell, run: Box::new(run) });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, cells.len().max(1)) {
            // Cases have at most six dimensions and the recipes recurse little; the reserve is for
            // the driver's own stack use.
            let thread = std::thread::Builder::new().stack_size(8 << 20);
            thread.spawn_scoped(scope, work).expect("the system can start a thread");
        }
    });
}

/// Returns the number of cells that run at once: the number of processors of this machine.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
