//! A kernel that is wrong is caught on the card, shrunk, and replayed by the printed command. The kernels are broken builds: copies of
//! sources with one line changed, which the device compiles in place of its own. Without an NVIDIA GPU it says that it was skipped.
#![cfg(all(feature = "cli", feature = "cuda"))]

use isobit_conformance::report::{Report, Status};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ELEMENTWISE: (&str, &str) =
    ("dialect/elementwise.cuh", include_str!("../../kernels-common/src/dialect/elementwise.cuh"));
const REDUCE: (&str, &str) = ("ops/reduce/ops.cuh", include_str!("../../kernels-common/src/ops/reduce/ops.cuh"));

/// A folder with one changed source, and one for the reports.
struct Broken(tempfile::TempDir);

impl Broken {
    fn new((name, text): (&str, &str), line: &str, changed: &str) -> Self {
        assert_eq!(text.matches(line).count(), 1, "{name} has this line once: {line}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("src").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.replace(line, changed)).unwrap();
        Self(dir)
    }

    fn run(&self, sources: bool, args: &[&str]) -> Output {
        // The program's path as it was built, or where it lies now.
        let program = std::env::var_os("ISOBIT_CONFORMANCE")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_isobit-conformance")), PathBuf::from);
        let mut command = Command::new(program);
        command.args(["--devices", "cuda:0", "--out"]).arg(self.out()).args(args);
        if sources {
            command.env("ISOBIT_KERNEL_SOURCES", self.0.path().join("src"));
        }
        command.output().unwrap()
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    /// The suite catches it, in a case of at most `most` elements, and the saved case fails with the broken kernel alone.
    fn is_caught(&self, op: &str, dtype: &str, most: usize) {
        let output = self.run(true, &["--ops", op, "--dtypes", dtype, "--cases", "64"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let report: Report = serde_json::from_slice(&std::fs::read(self.out().join("report.json")).unwrap()).unwrap();
        let cell =
            |r: &&isobit_conformance::report::ResultRow| r.op == op && r.subject == "cuda:0" && r.reference == "cpu";
        let row = report.results.iter().find(cell).unwrap();
        assert_eq!(row.status, Status::Fail, "{row:?}");
        let worst = row.worst.as_deref().unwrap();
        eprintln!("{op} {dtype}: {worst}\n    {}", row.repro.as_deref().unwrap());
        assert!(elements(worst) <= most, "{worst}");
        let saved = only_file(&self.out().join("failures"));
        let replay = ["--replay", saved.to_str().unwrap()];
        assert_eq!(self.run(true, &replay).status.code(), Some(1));
        assert_eq!(self.run(false, &replay).status.code(), Some(0), "the kernel as it is passes");
    }
}

/// The elements of the shape that a description of a case begins with.
fn elements(worst: &str) -> usize {
    let dims = worst.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(dims, _)| dims).unwrap();
    dims.split(',').filter_map(|d| d.trim().parse::<usize>().ok()).product()
}

fn only_file(dir: &Path) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn no_gpu() -> bool {
    let none = isobit::available_devices().iter().all(|d| d.driver != "cuda");
    if none {
        eprintln!("skipped: this test needs an NVIDIA GPU and NVRTC");
    }
    none
}

#[test]
fn a_tail_element_that_is_not_written_is_caught() {
    let broken = Broken::new(ELEMENTWISE, "if (block_x() == 0 && i < n)", "if (block_x() == 0 && i + 1 < n)");
    if !no_gpu() {
        broken.is_caught("exp", "f32", 16);
    }
}

#[test]
fn a_sum_that_accumulates_in_f16_is_caught() {
    let broken = Broken::new(
        REDUCE,
        "{ return a + b; }",
        "{ if constexpr (is_same<T, f16>) return to_f32(round_to<f16>(a + b)); else return a + b; }",
    );
    if !no_gpu() {
        broken.is_caught("sum", "f16", 16);
    }
}
