//! Tests the program as a user sees it: exit status, messages, files.
#![cfg(feature = "cli")]

use isobit_conformance::cells::Cell;
use isobit_conformance::generate;
use isobit_conformance::regress;
use isobit_conformance::report::{Report, Status};
use isobit_conformance::run::{Failure, Fault};
use std::path::Path;
use std::process::{Command, Output};

fn run(out: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isobit-conformance")).args(args).arg("--out").arg(out).output().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn report(out: &Path) -> Report {
    serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap()
}

#[test]
fn what_cannot_run_is_said_and_is_status_2() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], says: &str| {
        let output = run(dir.path(), args);
        assert_eq!(status(&output), 2, "{args:?}: {}", error(&output));
        assert!(error(&output).contains(says), "{args:?}: {}", error(&output));
    };
    refused(&["--ops", "sigmod"], "no operation is named `sigmod`; did you mean sigmoid");
    refused(&["--dtypes", "fp16"], "did you mean f16");
    refused(&["--devices", "cudo:0"], "no driver is named `cudo`; did you mean cuda");
    refused(&["--devices", "cuda:x"], "`x` is not an ordinal");
    refused(&["--devices", "rocm:0"], "rocm:0");
    refused(&["--devices", "cpu:7"], "cpu:7");
    refused(&["--devices", "sim-rocm:gfx90b"], "no simulated AMD GPU is named `gfx90b`; did you mean gfx90a");
    refused(&["--devices", "sim-cuda:sm_81"], "no simulated NVIDIA GPU is named `sm_81`; did you mean sm_80");
    refused(&["--ops", "exp", "--dtypes", "u8"], "the filters select nothing");
    refused(&["--ops", "device.stream"], "no operation is named `device.stream`; did you mean device.streams");
    refused(&["--ops", "device.", "--dtypes", "f32"], "the filters select nothing");
    refused(&["--ops", "exp", "--case", "3"], "--case applies only to groups");
    refused(&["--cases", "0"], "--cases");
    refused(&["--quick", "--exhaustive"], "--exhaustive");
    refused(&["--replay", "not/there.json"], "cannot read not/there.json");
    assert!(!dir.path().join("report.json").exists());
}

#[test]
fn the_cpu_passes_and_the_files_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["--devices", "cpu", "--ops", "neg,argmax", "--dtypes", "i16,f16", "--cases", "40"]);
    assert_eq!(status(&output), 0, "{}", error(&output));
    let report = report(dir.path());
    let cells: Vec<_> = report.results.iter().filter(|r| r.reference == "cpu").collect();
    // Positions in f16 are also given as i64.
    assert_eq!(cells.len(), 5);
    assert!(cells.iter().all(|r| r.status == Status::Pass && r.cases == 40 && r.bit_exact && r.layouts.len() == 6));
    assert_eq!((report.devices.len(), report.devices[0].id.as_str()), (1, "cpu"));
    for file in ["report.html", "junit.xml", "digests.json"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    // A line for each finished family, also without a terminal.
    let rows = error(&output);
    for (family, cells) in [("unary", "1 op x 2 dtypes"), ("reduce", "1 op, 3 cells")] {
        let row =
            rows.lines().find(|l| l.starts_with("cpu ") && l.contains(family)).unwrap_or_else(|| panic!("{rows}"));
        assert!(row.contains(cells) && row.ends_with("pass"), "{row}");
    }
}

#[test]
fn a_saved_case_is_replayed_alone_and_first() {
    let dir = tempfile::tempdir().unwrap();
    let cell = Cell::find("exp", "f32", None).unwrap();
    let fault = Fault::Error { message: "as it was".into() };
    let failure = Failure { device: "cpu".into(), index: Some(7), case: generate::case(9, cell, 7), fault };
    regress::append(&dir.path().join("regressions.jsonl"), &failure).unwrap();
    let saved = dir.path().join("one.json");
    std::fs::write(&saved, regress::line(&failure)).unwrap();

    assert_eq!(status(&run(dir.path(), &["--replay", saved.to_str().unwrap()])), 0);
    let replayed = report(dir.path());
    assert_eq!((replayed.results.len(), replayed.results[0].cases), (1, 1));

    assert_eq!(status(&run(dir.path(), &["--devices", "cpu", "--ops", "exp", "--dtypes", "f32", "--cases", "3"])), 0);
    let row = &report(dir.path()).results[0];
    assert_eq!(row.cases, 4, "the saved case and three more");
}

#[test]
fn groups_run_by_name_by_prefix_and_one_case_alone() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(status(&run(dir.path(), &["--devices", "cpu", "--ops", "device.,neg", "--cases", "33"])), 0);
    let all = report(dir.path());
    let groups: Vec<_> = all.results.iter().filter(|r| r.op.starts_with("device.")).collect();
    assert_eq!(groups.len(), isobit_conformance::runtime_tests::groups().count());
    assert!(groups.iter().all(|r| (r.cases, r.subject.as_str()) == (33, "cpu")));
    let unsupported: Vec<_> = groups.iter().filter(|r| r.status == Status::Unsupported).collect();
    assert_eq!(unsupported.len(), 1);
    assert!(unsupported[0].op == "device.kernels" && unsupported[0].reason.as_ref().unwrap().contains("capability"));
    assert!(groups.iter().all(|r| r.status != Status::Pass || r.bit_exact));
    assert_eq!(all.totals.unsupported, 1);
    assert_eq!(all.totals.declared as usize, all.results.len(), "groups are counted as cells are");

    assert_eq!(
        status(&run(dir.path(), &["--devices", "cpu", "--ops", "device.graphs", "--seed", "3", "--case", "9"])),
        0
    );
    let one = report(dir.path());
    assert_eq!((one.results.len(), one.results[0].cases), (1, 1));
    for file in ["report.html", "junit.xml"] {
        let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(text.contains("device.graphs"), "{file}");
    }
}

#[test]
fn stress_says_what_it_did() {
    let stress = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_isobit-conformance")).arg("stress").args(args).output().unwrap()
    };
    let output = stress(&["--device", "cpu", "--second", "cpu", "--threads", "3", "--ops", "200"]);
    assert_eq!(status(&output), 0, "{}", error(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("cpu and cpu: 3 threads did 2") && said.contains("memory was returned"), "{said}");
    assert_eq!(status(&stress(&["--device", "cuda:99"])), 2);
}
