//! Joins runs by their digests, as machines without a connection to each other do.
#![cfg(feature = "cli")]

use isobit_conformance::report::{Report, ResultRow, Status};
use isobit_conformance::run::Digests;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(args: &[&str], out: &Path) -> Output {
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

/// Two runs of the CPU; the devices of the second are changed to be those of another machine.
struct Machines {
    dir: tempfile::TempDir,
}

impl Machines {
    fn new(second: &[&str]) -> Self {
        let machines = Self { dir: tempfile::tempdir().unwrap() };
        let common = ["--devices", "cpu", "--ops", "add,sum", "--dtypes", "f32", "--cases"];
        for (name, more) in [("a", &["12"][..]), ("b", second)] {
            let output = program(&[&common[..], more].concat(), &machines.path(name));
            assert_eq!(status(&output), 0, "{}", error(&output));
        }
        machines
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn digests(&self, name: &str) -> Digests {
        Digests::read(&self.path(name).join(Digests::FILE)).unwrap()
    }

    /// Changes the digests of the second machine.
    fn change(&self, change: impl FnOnce(&mut Digests)) {
        let mut digests = self.digests("b");
        change(&mut digests);
        digests.write(&self.path("b").join(Digests::FILE)).unwrap();
    }

    fn compare(&self, runs: [&str; 2]) -> Output {
        let [a, b] = runs.map(|run| self.path(run).to_str().unwrap().to_string());
        program(&["--compare", &a, &b], &self.path("joined"))
    }

    fn refused(&self, says: &str) {
        let output = self.compare(["a", "b"]);
        assert_eq!(status(&output), 2, "{}", error(&output));
        assert!(error(&output).contains(says), "{}", error(&output));
        assert!(!self.path("joined").exists());
    }
}

/// Changes the CPU of a run to a GPU with the given name, so that there is a pair across vendors.
fn as_gpu(digests: &mut Digests, id: &str) {
    let device = &mut digests.devices[0].device;
    (device.id, device.driver) = (id.into(), id.split(':').next().unwrap().into());
}

fn pair<'a>(report: &'a Report, op: &str, subject: &str, reference: &str) -> &'a ResultRow {
    let row = |r: &&ResultRow| r.op == op && r.subject == subject && r.reference == reference;
    report.results.iter().find(row).unwrap_or_else(|| panic!("{op} of {subject} against {reference}: {report:?}"))
}

#[test]
fn folders_and_files_are_joined_into_one_report() {
    // A longer run of the same cases: neither filters nor the number of cases change a case.
    let machines = Machines::new(&["20", "--numerics", "portable"]);
    let (a, b) = (machines.digests("a"), machines.digests("b"));
    let sum = |d: &Digests| d.devices[0].cells.iter().find(|c| c.op == "sum").unwrap().clone();
    assert_eq!(sum(&a).digests, sum(&b).digests[..12]);
    assert_eq!(sum(&a).cases, sum(&b).cases[..12]);

    let output = machines.compare(["a", "b"]);
    assert_eq!(status(&output), 0, "{}", error(&output));
    assert!(error(&output).contains("12 and 20 cases per cell"), "{}", error(&output));
    let joined = report(&machines.path("joined"));
    let ids: Vec<_> = joined.devices.iter().map(|d| d.id.as_str()).collect();
    assert_eq!((ids, joined.cases), (vec!["cpu", "cpu@b"], 12));
    for op in ["add", "sum"] {
        let row = pair(&joined, op, "cpu@b", "cpu");
        assert_eq!((row.cases, row.bit_exact, row.status), (12, true, Status::Pass));
        assert_eq!(pair(&joined, op, "cpu@b", "cpu@b").cases, 20, "what each reported of itself is there too");
    }
    assert!(joined.results.iter().any(|r| r.subject == "cpu@b" && r.reference == "golden"));
    for file in ["report.html", "junit.xml"] {
        assert!(machines.path("joined").join(file).exists(), "{file}");
    }

    let renamed = machines.path("other.json");
    machines.digests("b").write(&renamed).unwrap();
    assert_eq!(status(&machines.compare(["a/digests.json", "other.json"])), 0);
    assert_eq!(pair(&report(&machines.path("joined")), "sum", "cpu@other", "cpu").cases, 12);
}

#[test]
fn a_failed_group_of_one_run_fails_the_joined_report() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["a", "b"] {
        let output = program(&["--devices", "cpu", "--ops", "add,device.pool", "--cases", "4"], &path(name));
        assert_eq!(status(&output), 0, "{}", error(&output));
    }
    let joined = || {
        let [a, b] = ["a", "b"].map(|name| path(name).to_str().unwrap().to_string());
        let output = program(&["--compare", &a, &b], &path("joined"));
        assert!(status(&output) <= 1, "{}", error(&output));
        let row = pair(&report(&path("joined")), "device.pool", "cpu@b", "cpu@b").status;
        (status(&output), row)
    };
    assert_eq!(joined(), (0, Status::Pass));
    let mut failed = report(&path("b"));
    failed.results.iter_mut().filter(|r| r.op == "device.pool").for_each(|r| r.status = Status::Fail);
    std::fs::write(path("b").join("report.json"), serde_json::to_vec(&failed).unwrap()).unwrap();
    assert_eq!(joined(), (1, Status::Fail));
}

#[test]
fn a_changed_byte_of_one_digest_is_found_and_named() {
    let machines = Machines::new(&["12"]);
    std::fs::remove_file(machines.path("b/report.json")).unwrap();
    machines.change(|digests| {
        as_gpu(digests, "cuda:0");
        let cell = digests.devices[0].cells.iter_mut().find(|c| c.op == "sum").unwrap();
        let digit = if cell.digests[7].ends_with('0') { "1" } else { "0" };
        cell.digests[7].replace_range(31.., digit);
    });
    let output = machines.compare(["a", "b"]);
    assert_eq!(status(&output), 1, "{}", error(&output));
    let joined = report(&machines.path("joined"));
    assert_eq!(pair(&joined, "add", "cuda:0", "cpu").status, Status::Pass);
    let row = pair(&joined, "sum", "cuda:0", "cpu");
    assert_eq!((row.status, row.failed, row.cases, row.bit_exact), (Status::Fail, 1, 12, false));
    let worst = row.worst.as_ref().unwrap();
    assert!(worst.contains("1 case differs, the first at index 7") && worst.contains("on cuda:0"), "{worst}");
    let repro = row.repro.as_ref().unwrap();
    assert!(repro.starts_with("cargo xtask conformance --devices cpu,cuda:0 --ops sum --dtypes f32"), "{repro}");
    assert!(repro.contains("--seed 0 --cases 8"), "{repro}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains(worst.as_str()) && shown.contains("sum f32"), "{shown}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let machines = Machines::new(&["12", "--seed", "1"]);
    machines.refused("have different seeds, 0 and 1");
    let machines = Machines::new(&["12"]);
    machines.change(|digests| digests.build.version = "0.0.9".into());
    machines.refused("different builds");
    machines.change(|digests| {
        digests.build.version = env!("CARGO_PKG_VERSION").into();
        digests.build.numerics_version = Some(0);
    });
    machines.refused(&format!("numerics version {} and 0", isobit_hal::NUMERICS_VERSION));
    machines.change(|digests| {
        digests.build.numerics_version = Some(isobit_hal::NUMERICS_VERSION);
        digests.devices[0].cells[0].cases[2] = "0".into();
    });
    machines.refused("index 2: cpu@b and cpu ran different cases");
    machines.change(|digests| digests.schema = 7);
    machines.refused("its schema is 7");
    let alone = program(&["--compare", machines.path("a").to_str().unwrap()], &machines.path("joined"));
    assert_eq!(status(&alone), 2);
    assert!(error(&alone).contains("give a second one"));
    let nowhere = program(&["--compare", "not/there", "nor/here"], &machines.path("joined"));
    assert!(status(&nowhere) == 2 && error(&nowhere).contains("cannot read the digests not/there"));
}
