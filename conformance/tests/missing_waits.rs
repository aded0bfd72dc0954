//! `device.streams` and `device.pinned` detect a missing wait: on simulated GPUs that do work at
//! the latest moment that the interface allows, they pass, and fail once the device no longer
//! orders the work of its streams.
#![cfg(all(feature = "cli", feature = "cuda", feature = "rocm"))]

use isobit::{AnyDevice, BackendDevice};
use isobit_conformance::report::Status;
use isobit_conformance::runtime_tests::{Group, GroupRun, Options, run_group};
use std::path::PathBuf;
use std::process::Command;

/// Set in a process that already has the simulator.
const INSIDE: &str = "ISOBIT_ORDER_INSIDE";

/// Returns the folder of the simulated GPUs: built here, or named by the environment.
fn simulators() -> PathBuf {
    let built = || isobit_simgpu_install::all().unwrap();
    std::env::var_os("ISOBIT_SIMGPU").map_or_else(built, PathBuf::from)
}

/// Runs a test again in a process that has a vendor's simulated GPU with deferred work.
fn deferred(test: &str, vendor: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let root = simulators().join(vendor);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1").env("ISOBIT_SIM_DEFER", "1");
    // Without order, kernels may read indices that are not there yet.
    command.env("ISOBIT_SIM_FINDINGS", "record");
    command.env("LD_LIBRARY_PATH", root.join("lib")).env("ROCM_PATH", root).env_remove("ISOBIT_POOL");
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn run(device: &AnyDevice, group: Group) -> GroupRun {
    run_group(device, "simulated", group, &Options::new(1, 24), |_| {})
}

fn a_missing_wait_is_seen(name: &str) {
    let device = AnyDevice::open(name).unwrap();
    for group in [Group::Streams, Group::Pinned] {
        let ordered = run(&device, group).row;
        assert_eq!(ordered.status, Status::Pass, "{:?}", ordered.worst);
        // SAFETY: the device is simulated. Work on memory that was already handed to another
        // storage is what this test must show, and it harms nothing else.
        unsafe { device.disable_event_tracking() };
        let unordered = run(&device, group).row;
        device.enable_event_tracking();
        let worst = unordered.worst.unwrap_or_default();
        assert_eq!(unordered.status, Status::Fail, "no case sees that nothing is ordered");
        assert!(unordered.failed >= 3, "{} of {} cases see it", unordered.failed, unordered.cases);
        // The message names the difference (or an id that was not there yet), and the program that
        // led to it.
        let wrong = ["differ", "does not contain", "IndexOutOfRange"];
        assert!(wrong.iter().any(|words| worst.contains(words)), "{worst}");
        assert!(worst.contains("on stream") && worst.contains(&format!("{group}, case")), "{worst}");
        let repro = unordered.repro.unwrap();
        assert!(repro.contains(&format!("--ops {group} --seed 1 --case ")), "{repro}");
        assert_eq!(run(&device, group).row.status, Status::Pass, "ordered again");
    }
}

#[test]
fn a_missing_wait_is_seen_on_a_simulated_nvidia_gpu() {
    deferred("a_missing_wait_is_seen_on_a_simulated_nvidia_gpu", "cuda", || a_missing_wait_is_seen("cuda:0"));
}

#[test]
fn a_missing_wait_is_seen_on_a_simulated_amd_gpu() {
    deferred("a_missing_wait_is_seen_on_a_simulated_amd_gpu", "rocm", || a_missing_wait_is_seen("rocm:0"));
}
