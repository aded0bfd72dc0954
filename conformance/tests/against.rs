//! Compares two builds by their digests: what changed, what was lost, and what a numerics version
//! announced.
#![cfg(feature = "cli")]

use isobit_conformance::run::{CellDigests, Digests};
use isobit_hal::NUMERICS_VERSION;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isobit-conformance")).args(args).output().unwrap()
}

/// Returns the status, standard output and standard error.
fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Two folders with one run of the CPU; the second is modified to look like a later build.
struct Builds {
    dir: tempfile::TempDir,
}

const RUN: [&str; 6] = ["--devices", "cpu", "--ops", "add,exp,matmul", "--cases", "8"];

impl Builds {
    fn new() -> Self {
        let builds = Self { dir: tempfile::tempdir().unwrap() };
        let (status, _, error) = told(&program(&[&RUN[..], &["--out", &builds.arg("old")]].concat()));
        assert_eq!(status, 0, "{error}");
        std::fs::create_dir(builds.path("new")).unwrap();
        builds.change("old", "new", |_| {});
        builds
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn arg(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().into()
    }

    /// Writes the digests of one folder into the other after changing them.
    fn change(&self, from: &str, to: &str, change: impl FnOnce(&mut Digests)) {
        let mut digests = Digests::read(&self.path(from).join(Digests::FILE)).unwrap();
        change(&mut digests);
        digests.write(&self.path(to).join(Digests::FILE)).unwrap();
    }

    fn later(&self, change: impl FnOnce(&mut Digests)) {
        self.change("old", "new", change);
    }

    fn compare(&self, more: &[&str]) -> (i32, String, String) {
        told(&program(&[&["--against", &self.arg("old"), &self.arg("new")], more].concat()))
    }

    /// Returns the number of cells of the first device.
    fn cells(&self) -> usize {
        Digests::read(&self.path("old").join(Digests::FILE)).unwrap().devices[0].cells.len()
    }

    fn refused(&self, args: &[&str], says: &str) {
        let (status, _, error) = told(&program(args));
        assert!(status == 2 && error.contains(says), "{args:?}: {status}, {error}");
    }
}

fn cell<'a>(digests: &'a mut Digests, op: &str, dtypes: &str) -> &'a mut CellDigests {
    digests.devices[0].cells.iter_mut().find(|c| c.op == op && c.dtypes == dtypes).unwrap()
}

fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// Returns the counts of the CPU's line: cells compared, same, results changed, lost, cases
/// changed, vendor results changed, added.
fn counts(text: &str) -> Vec<usize> {
    let line = text.lines().find(|l| l.starts_with("cpu ")).unwrap_or_else(|| panic!("no line of the CPU in\n{text}"));
    line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect()
}

#[test]
fn a_run_is_held_to_an_earlier_one() {
    let builds = Builds::new();
    let (old, out) = (builds.arg("old"), builds.arg("out"));
    let run = |args: &[&str]| told(&program(&[args, &["--against", &old, "--out", &out]].concat()));
    // Cells that a filter excludes are not lost, and only the cases of the shorter run are
    // compared.
    let filtered = ["--devices", "cpu", "--ops", "exp", "--dtypes", "f16,f32", "--cases", "5"];
    let (status, shown, error) = run(&filtered);
    assert_eq!(status, 0, "{error}");
    assert_eq!(counts(&shown), [2, 2, 0, 0, 0, 0, 0]);
    shows(&shown, &["passed  ", "5 cases per cell after 8; the first 5 are compared", "\nsame  2 cells"]);

    builds.change("old", "old", |digests| cell(digests, "exp", "f16").digests[3] = "another".into());
    let (status, shown, _) = run(&filtered);
    assert_eq!((status, counts(&shown)), (1, vec![2, 1, 1, 0, 0, 0, 0]));
    let command = format!("--devices cpu --ops exp --dtypes f16 --seed 0 --cases 4 --against {old} --out ");
    shows(
        &shown,
        &["exp f16 on cpu: 1 case, the first at index 3", &command, "\nDIFFERENT  ", "no numerics version announces"],
    );

    // If a run cannot be compared, the error is reported before anything runs.
    let before = std::fs::read(builds.path("old").join(Digests::FILE)).unwrap();
    builds.refused(&["--seed", "4", "--against", &old, "--out", &out], "has seed 0, but the other run has seed 4");
    builds.refused(&["--against", &old, "--out", &old], "would overwrite");
    builds.refused(&["--ops", "device.pool", "--against", &old, "--out", &out], "the filters select none");
    builds.refused(&["--against", "not/there", "--out", &out], "cannot read the digests not/there");
    builds.refused(&["--against", &old, "--compare", &old], "cannot be used with");
    assert_eq!(std::fs::read(builds.path("old").join(Digests::FILE)).unwrap(), before);
}

#[test]
fn every_kind_of_difference_between_two_folders_is_counted_and_named() {
    let builds = Builds::new();
    let all = builds.cells();
    let (status, shown, _) = builds.compare(&[]);
    assert_eq!((status, counts(&shown)), (0, vec![all, all, 0, 0, 0, 0, 0]));

    // Only vendor results changed: they are listed, but the verdict is not different.
    let vendor = |digests: &mut Digests| {
        let mut cells = digests.devices[0].cells.iter_mut();
        let cell = cells.find(|c| c.op == "matmul" && c.numerics == Some(isobit_hal::Numerics::Vendor));
        cell.unwrap().digests[0] = "another".into();
    };
    builds.later(vendor);
    let (status, shown, _) = builds.compare(&[]);
    assert_eq!((status, counts(&shown)), (0, vec![all, all - 1, 0, 0, 0, 1, 0]));
    shows(
        &shown,
        &["no numerics version promises them", "matmul f8e4m3 vendor on cpu: 1 case", "--numerics vendor", "\nsame  "],
    );

    builds.later(|digests| {
        vendor(digests);
        cell(digests, "exp", "bf16").cases[2] = "another".into();
        cell(digests, "exp", "bf16").digests[2] = "another".into();
        digests.devices[0].cells.retain(|c| (c.op.as_str(), c.dtypes.as_str()) != ("add", "f32"));
        let added = CellDigests { op: "brand_new".into(), ..cell(digests, "exp", "f32").clone() };
        digests.devices[0].cells.push(added);
    });
    let (status, shown, _) = builds.compare(&[]);
    assert_eq!((status, counts(&shown)), (1, vec![all - 1, all - 3, 0, 1, 1, 1, 1]));
    shows(
        &shown,
        &["exp bf16 on cpu: 1 case, the first at index 2", "lost:\n  add f32 on cpu", "added:\n  brand_new f32 on cpu"],
    );
    // The filters also apply to a cell that this build does not know.
    let filtered = |more: &[&str]| (builds.compare(more).0, counts(&builds.compare(more).1));
    assert_eq!(filtered(&["--ops", "exp", "--dtypes", "f16,f32"]), (0, vec![2, 2, 0, 0, 0, 0, 0]));
    assert_eq!(filtered(&["--dtypes", "f32", "--numerics", "portable"]), (1, vec![2, 2, 0, 1, 0, 0, 1]));

    builds.later(|digests| digests.devices[0].device.id = "cuda:0".into());
    let (status, _, error) = builds.compare(&[]);
    assert!(status == 2 && error.contains("old has cpu") && error.contains("new has cuda:0"), "{error}");
    builds.later(|digests| digests.seed = 7);
    assert!(builds.compare(&[]).2.contains("has seed 0, but the other run has seed 7"));
}

#[test]
fn a_device_that_only_one_run_has_is_lost_or_added_whole() {
    let builds = Builds::new();
    builds.change("old", "old", |digests| {
        let mut gpu = digests.devices[0].clone();
        gpu.device.id = "cuda:0".into();
        digests.devices.push(gpu);
    });
    // The copy in `new` was made before this change.
    let all = format!("all {} cells of cuda:0, which the", builds.cells());
    let (status, shown, _) = builds.compare(&[]);
    assert_eq!(status, 1);
    shows(&shown, &[&format!("{all} later run does not have")]);
    assert_eq!(builds.compare(&["--devices", "cpu"]).0, 0);
    let (status, shown, _) = told(&program(&["--against", &builds.arg("new"), &builds.arg("old")]));
    assert_eq!(status, 0);
    shows(&shown, &[&format!("{all} earlier run does not have")]);
}

#[test]
fn a_changed_result_is_announced_by_another_numerics_version_alone() {
    let builds = Builds::new();
    let with = |old: Option<u32>, new: Option<u32>| {
        builds.change("old", "old", |digests| digests.build.numerics_version = old);
        builds.later(|digests| {
            digests.build.numerics_version = new;
            cell(digests, "exp", "f64").digests[1] = "another".into();
        });
        builds.compare(&[])
    };
    let known = Some(NUMERICS_VERSION);
    let (status, shown, _) = with(known, Some(NUMERICS_VERSION + 1));
    assert_eq!(status, 0);
    let versions = format!("numerics version {} after {NUMERICS_VERSION}", NUMERICS_VERSION + 1);
    shows(
        &shown,
        &[&versions, "exp f64 on cpu: 1 case, the first at index 1", "\nannounced  ", "announces the changed results"],
    );
    assert_eq!(with(known, known).0, 1);
    // No version can announce a lost cell.
    builds.later(|digests| {
        digests.build.numerics_version = Some(NUMERICS_VERSION + 1);
        digests.devices[0].cells.remove(0);
    });
    assert_eq!(builds.compare(&[]).0, 1);

    // A build without a recorded version announces nothing.
    let (status, shown, _) = with(None, known);
    assert_eq!(status, 1);
    shows(&shown, &[&format!("numerics version {NUMERICS_VERSION} after not recorded")]);
    let path = builds.path("old").join(Digests::FILE);
    strip(&path, "numerics_version");
    assert_eq!(builds.compare(&[]).0, 1, "a file that has no such field is read");
}

/// Removes a field from the build information.
fn strip(path: &Path, field: &str) {
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(value["build"].as_object_mut().unwrap().remove(field).is_some());
    std::fs::write(path, value.to_string()).unwrap();
}
