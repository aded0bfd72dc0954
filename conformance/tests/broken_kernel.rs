//! A wrong kernel is caught on a GPU, shrunk, and replayed by the printed command. The kernels are
//! broken builds: copies of sources with one line changed, which the device compiles instead of its
//! own. A real NVIDIA GPU runs them if there is one; the simulated AMD GPU always runs them; the
//! simulated NVIDIA GPU runs them if NVRTC is present (`ISOBIT_NVRTC`, its path, which `cargo xtask
//! test` sets). Faults that only a check of every access can detect are tested on simulated GPUs
//! only.
#![cfg(all(feature = "cli", feature = "cuda", feature = "rocm"))]

use isobit_conformance::report::{Report, ResultRow, Status};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ELEMENTWISE: (&str, &str) =
    ("device_lib/elementwise.cuh", include_str!("../../kernels-common/src/device_lib/elementwise.cuh"));
const REDUCE: (&str, &str) = ("ops/reduce/ops.cuh", include_str!("../../kernels-common/src/ops/reduce/ops.cuh"));
const REDUCE_TEAMS: (&str, &str) =
    ("ops/reduce/reduce.cu", include_str!("../../kernels-common/src/ops/reduce/reduce.cu"));

const SIMULATED: &str = "sim-rocm:gfx90a";
const SIMULATED_CUDA: &str = "sim-cuda";

/// Returns the folder of the simulated GPUs: built here, or named by the environment.
fn simulators() -> PathBuf {
    let built = || isobit_simgpu_install::all().unwrap();
    std::env::var_os("ISOBIT_SIMGPU").map_or_else(built, PathBuf::from)
}

/// Returns the folder of NVRTC, with which a CUDA device compiles sources.
fn nvrtc() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("ISOBIT_NVRTC")?).parent()?.to_path_buf())
}

/// Returns the GPUs that run a broken kernel.
fn gpus() -> Vec<&'static str> {
    let real = isobit::available_devices().iter().any(|d| d.driver == "cuda");
    real.then_some("cuda:0").into_iter().chain(simulated()).collect()
}

/// Returns those of them that check every access.
fn simulated() -> Vec<&'static str> {
    [SIMULATED].into_iter().chain(nvrtc().map(|_| SIMULATED_CUDA)).collect()
}

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

    fn run(&self, device: &str, sources: bool, args: &[&str]) -> Output {
        // The path where the program was built, or the one named by the environment.
        let program = std::env::var_os("ISOBIT_CONFORMANCE")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_isobit-conformance")), PathBuf::from);
        let mut command = Command::new(program);
        command.args(["--devices", device, "--out"]).arg(self.out(device)).args(args);
        command.env("ISOBIT_SIMGPU", simulators());
        if let Some(folder) = nvrtc() {
            let more = std::env::var_os("LD_LIBRARY_PATH");
            let folders = more.iter().flat_map(std::env::split_paths).chain([folder]);
            command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
        }
        if sources {
            command.env("ISOBIT_KERNEL_SOURCES", self.0.path().join("src"));
        }
        command.output().unwrap()
    }

    fn out(&self, device: &str) -> PathBuf {
        self.0.path().join(device.replace(':', "-"))
    }

    /// Returns the report of a device on which the cell of an operation and dtype fails, and that
    /// cell.
    fn fails(&self, device: &str, op: &str, dtype: &str) -> (Report, ResultRow) {
        let output = self.run(device, true, &["--ops", op, "--dtypes", dtype, "--cases", "64"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let report = std::fs::read(self.out(device).join("report.json")).unwrap();
        let report: Report = serde_json::from_slice(&report).unwrap();
        let cell = |r: &&ResultRow| r.op == op && r.subject == device && r.reference == "cpu";
        let row = report.results.iter().find(cell).unwrap().clone();
        assert_eq!(row.status, Status::Fail, "{row:?}");
        (report, row)
    }

    /// Checks that every GPU catches the fault, in a case of at most `most` elements, and that the
    /// saved case fails only with the broken kernel.
    fn is_caught(&self, op: &str, dtype: &str, most: usize) {
        for device in gpus() {
            let (_, row) = self.fails(device, op, dtype);
            let worst = row.worst.as_deref().unwrap();
            eprintln!("{device} {op} {dtype}: {worst}\n    {}", row.repro.as_deref().unwrap());
            assert!(elements(worst) <= most, "{worst}");
            let saved = only_file(&self.out(device).join("failures"));
            let replay = ["--replay", saved.to_str().unwrap()];
            assert_eq!(self.run(device, true, &replay).status.code(), Some(1));
            assert_eq!(self.run(device, false, &replay).status.code(), Some(0), "the kernel as it is passes");
        }
    }

    /// Checks that a simulated GPU finds the fault, and that the report names the location.
    fn is_found(&self, device: &str, op: &str, dtype: &str, kind: &str) -> Report {
        let (mut report, row) = self.fails(device, op, dtype);
        eprintln!("{op} {dtype}: {}", row.worst.as_deref().unwrap());
        assert!(*report.memory.count_mut(kind).unwrap() > 0, "{:?}", report.memory);
        let finding = report.findings.iter().find(|f| f.kind == kind).unwrap();
        assert_eq!((finding.device.as_str(), finding.op.clone()), (device, Some(format!("{op} {dtype}"))));
        let named = [&finding.kernel, &finding.instruction, &finding.thread, &finding.buffer, &finding.repro];
        assert!(named.iter().all(|part| part.is_some()) && finding.offset.is_some(), "{finding}");
        report
    }
}

/// Returns the number of elements of the shape at the beginning of a case's description.
fn elements(worst: &str) -> usize {
    let dims = worst.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(dims, _)| dims).unwrap();
    dims.split(',').filter_map(|d| d.trim().parse::<usize>().ok()).product()
}

fn only_file(dir: &Path) -> PathBuf {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn a_tail_element_that_is_not_written_is_caught() {
    let broken = Broken::new(ELEMENTWISE, "if (block_x() == 0 && i < n)", "if (block_x() == 0 && i + 1 < n)");
    broken.is_caught("neg", "f32", 16);
}

#[test]
fn a_sum_that_accumulates_in_f16_is_caught() {
    let broken = Broken::new(
        REDUCE,
        "{ return a + b; }",
        "{ if constexpr (is_same<T, f16>) return to_f32(round_to<f16>(a + b)); else return a + b; }",
    );
    broken.is_caught("sum", "f16", 16);
}

#[test]
fn an_access_past_the_end_is_found_and_named() {
    let broken = Broken::new(ELEMENTWISE, "if (block_x() == 0 && i < n)", "if (block_x() == 0 && i <= n)");
    for device in simulated() {
        let report = broken.is_found(device, "neg", "f32", "out_of_bounds");
        let device = &report.devices[0];
        assert!(device.simulated && device.instructions_executed.is_some_and(|n| n > 0), "{device:?}");
    }
}

#[test]
fn a_missing_barrier_is_found_and_named() {
    let store = "lanes[lane + v * distance] = acc[v];\n";
    let broken = Broken::new(REDUCE_TEAMS, &format!("{store}        barrier();\n"), store);
    // A team of 64 threads is one wave on gfx90a and needs no barrier there; on gfx1100 and NVIDIA
    // GPUs it is two waves.
    broken.is_found("sim-rocm:gfx1100", "sum", "f32", "races");
    if nvrtc().is_some() {
        broken.is_found(SIMULATED_CUDA, "sum", "f32", "races");
    }
}

#[test]
fn a_simulated_gpu_that_is_not_built_says_how_to_get_it() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_isobit-conformance"));
    command.args(["--devices", SIMULATED, "--out"]).arg(empty.path()).env("ISOBIT_SIMGPU", empty.path());
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(SIMULATED) && error.contains("build it with `cargo xtask conformance`"), "{error}");
}
