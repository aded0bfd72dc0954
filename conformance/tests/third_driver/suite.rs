//! Runs the driver in the conformance suite, alone and behind the facade.

use super::device::TinyDevice;
use isobit::{AnyDevice, BackendDevice, DynDevice};
use isobit_conformance::cells::Cell;
use isobit_conformance::report::Status;
use isobit_conformance::run::{Options, run_cell};
use isobit_conformance::runtime_tests::{self, groups, run_group};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs every cell of the suite on a device and returns those that failed, with the reason.
fn failures(device: &impl BackendDevice, cases: u64) -> Vec<String> {
    let (cells, next, failed) = (Cell::all(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let id = device.location().to_string();
            let run = run_cell(device, &id, cell, &Options::new(0, cases), |_| {});
            if run.row.status != Status::Pass || run.row.cases != cases {
                failed.lock().unwrap().push(format!("{cell}: {:?} {:?}", run.row.reason, run.failure));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(work);
        }
    });
    failed.into_inner().unwrap()
}

/// Runs every group of runtime tests, and returns those that failed. Nothing else uses the device
/// meanwhile.
fn failed_groups<D: BackendDevice>(device: &D, cases: u64) -> Vec<String> {
    let id = device.location().to_string();
    let runs = groups().map(|group| run_group(device, &id, group, &runtime_tests::Options::new(0, cases), |_| {}));
    let failed = runs.filter(|run| run.row.status == Status::Fail || run.row.cases != cases);
    failed.map(|run| format!("{}: {:?} {:?}", run.row.op, run.row.reason, run.row.worst)).collect()
}

#[test]
fn it_passes_every_group() {
    let device = TinyDevice::new(0).unwrap();
    assert_eq!(failed_groups(&device, 32), Vec::<String>::new());
    assert_eq!(failed_groups(&AnyDevice::from_backend(device.clone()), 8), Vec::<String>::new());
    assert_eq!(failed_groups(&DynDevice::from_backend(device), 8), Vec::<String>::new());
}

#[test]
fn it_passes_every_cell() {
    let device = TinyDevice::new(0).unwrap();
    assert_eq!(failures(&device, 6), Vec::<String>::new());
}

#[test]
fn it_passes_every_cell_behind_the_facade() {
    let device = AnyDevice::from_backend(TinyDevice::new(1).unwrap());
    assert_eq!(failures(&device, 3), Vec::<String>::new());
}

#[test]
fn it_passes_as_an_object() {
    let device = DynDevice::from_backend(TinyDevice::new(0).unwrap());
    assert_eq!(failures(&device, 1), Vec::<String>::new());
}
