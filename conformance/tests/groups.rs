//! Runs the groups on the CPU, which executes all work in order and immediately: the HAL's promises
//! hold there too, and the CPU refuses what it lacks.

use isobit_conformance::report::Status;
use isobit_conformance::runtime_tests::{Group, Options, groups, run_group};
use isobit_hal::CpuDevice;

#[test]
fn the_cpu_does_all_groups_in_their_plain_meaning() {
    for group in groups() {
        let run = run_group(&CpuDevice, "cpu", group, &Options::new(0, 64), |_| {});
        let wanted = if group == Group::Kernels { Status::Unsupported } else { Status::Pass };
        assert_eq!(run.row.status, wanted, "{group}: {:?}\n{:?}", run.row.worst, run.row.reason);
        assert_eq!((run.row.cases, run.row.failed, run.lost), (64, 0, false), "{group}");
        let reason = run.row.reason.unwrap_or_default();
        assert_eq!(reason.contains("capability limits"), group == Group::Kernels, "{group}: {reason}");
    }
}

#[test]
fn a_case_is_a_function_of_seed_group_and_index() {
    let only = |only| Options { only, ..Options::new(7, 64) };
    let mut seen = Vec::new();
    let run = run_group(&CpuDevice, "cpu", Group::Streams, &only(Some(5)), |index| seen.push(index));
    assert_eq!((run.row.cases, seen), (1, vec![5]));
    let names: Vec<_> = groups().map(Group::name).collect();
    assert!(names.iter().all(|n| Group::find(n).map(Group::name) == Some(n) && n.starts_with("device.")));
    assert_eq!(Group::find("device.stream"), None);
}
