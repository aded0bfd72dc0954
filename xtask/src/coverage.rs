//! `cargo xtask coverage`: which lines and kernels of the tree no case executes. The report runs on
//! simulated GPUs whose kernels are compiled with line information, and a program of the workspace
//! (`conformance/coverage`) reads what the simulators write.

use crate::conformance::{self, SELECTION};
use crate::setup::{self, Fetched, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::test::features_of;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The package of the program.
pub const PACKAGE: &str = "isobit-coverage";

/// The devices of the default run, which has both widths of AMD's waves.
const DEVICES: [&str; 3] = ["sim-cuda", "sim-rocm:gfx90a", "sim-rocm:gfx1100"];

/// What is run, and where the report goes.
#[derive(Debug, Default)]
pub struct Options {
    /// The folder; by default in the target folder.
    pub out: Option<PathBuf>,
    /// The devices; by default [`DEVICES`].
    pub devices: Vec<String>,
    /// Only these operations, if there are any.
    pub ops: Vec<String>,
    /// Cases per cell, unless those of the report.
    pub cases: Option<String>,
}

impl Options {
    /// Whether only a part of the default report runs, which is not judged.
    fn is_partial(&self) -> bool {
        !self.devices.is_empty() || !self.ops.is_empty() || self.cases.is_some()
    }
}

/// Sets up, builds, and runs.
pub fn run(options: &Options) -> Result<ExitCode> {
    setup::ensure(&[Need::Clang, Need::Lld, Need::Pip])?;
    let nvrtc = std::env::var_os(NVRTC_VARIABLE).is_none().then(|| Fetched::start(|| NVRTC.get()));
    let simulators = conformance::build()?;
    if let Some(nvrtc) = nvrtc {
        nvrtc.wait().context("NVRTC compiles the kernels of the simulated NVIDIA GPU with line information")?;
    }
    report(&simulators, options)
}

/// Runs the report on every device and shows what ran.
pub fn report(simulators: &Path, options: &Options) -> Result<ExitCode> {
    let mut build = cargo();
    // With the others, so that the features of what they share are the same.
    build.arg("build").args(SELECTION).args(["--package", PACKAGE]).args(features_of(&["isobit-conformance"]));
    shell::build(&mut build)?;
    let out = options.out.clone().unwrap_or_else(|| target_dir().join("coverage"));
    let ran = out.join("ran");
    if ran.exists() {
        // Files of another run would count too.
        std::fs::remove_dir_all(&ran).with_context(|| format!("cannot remove {}", ran.display()))?;
    }
    std::fs::create_dir_all(&ran).with_context(|| format!("cannot make {}", ran.display()))?;
    let devices: Vec<&str> = match &options.devices[..] {
        [] => DEVICES.to_vec(),
        devices => devices.iter().map(String::as_str).collect(),
    };
    for device in devices {
        shell::run(&mut measured(simulators, device, &out, options)?)?;
    }
    let mut judge = Command::new(target_dir().join("debug").join(PACKAGE));
    judge.arg(&ran).arg("--out").arg(&out);
    judge.arg("--reasons").arg(shell::root().join("conformance").join("coverage").join("reasons.tsv"));
    hand_over(judge.args(options.is_partial().then_some("--partial")))
}

/// Returns the report on a device, whose compiler adds line information.
fn measured(simulators: &Path, device: &str, out: &Path, options: &Options) -> Result<Command> {
    let lines = match device.split(':').next() {
        Some("sim-cuda") => "-lineinfo",
        Some("sim-rocm") => "-gline-tables-only",
        _ => "",
    };
    ensure!(!lines.is_empty(), "{device} is not a simulated GPU: only they know which instructions ran");
    let mut program = conformance::program(simulators);
    program.env("ISOBIT_KERNEL_OPTIONS", lines).env("ISOBIT_SIM_COVERAGE", out.join("ran").join("%v-%p.json"));
    // What is compiled here is found again, and does not mix with what a user's programs compile.
    program.env("ISOBIT_COMPILE_CACHE", target_dir().join("coverage-code"));
    program.args(["--devices", device, "--out"]).arg(out.join(device.replace(':', "-")));
    if !options.ops.is_empty() {
        program.args(["--ops", &options.ops.join(",")]);
    }
    if let Some(cases) = &options.cases {
        program.args(["--cases", cases]);
    }
    Ok(program)
}
