//! `cargo xtask coverage`: which lines and kernels of the tree no case executes. The report runs on
//! simulated GPUs whose kernels are compiled with line information, and a program of the workspace
//! (`conformance/coverage`) reads what the simulators write.

use crate::conformance::{self, SELECTION};
use crate::setup::{self, Fetched, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::test::{FULL_CASES, features_of};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The package of the program.
pub const PACKAGE: &str = "isobit-coverage";

/// The device of the default run, on which every operation runs.
const EVERYTHING: &str = "sim-cuda";

/// The other devices of the default run, of both widths of AMD's waves.
const OTHERS: [&str; 2] = ["sim-rocm:gfx90a", "sim-rocm:gfx1100"];

/// What runs there. All cards have one source, and a line needs to run on one of them; so these are
/// the operations with the lines that AMD's cards have for themselves: positions, barriers, shared
/// memory without asynchronous copies, atomics, integer products, Philox, bits and rounding.
const OWN_LINES: [&str; 21] = [
    "abs",
    "add",
    "ceil",
    "conv2d",
    "copy_strided_src",
    "cumsum",
    "exp",
    "floor",
    "gather",
    "index_add",
    "matmul",
    "pow",
    "qmatmul_id_q8_1_q4_0",
    "qmatmul_q8_1_q4_0",
    "rand_normal",
    "rand_uniform",
    "round",
    "scatter_set",
    "sqrt",
    "sum",
    "trunc",
];

/// What is run, and where the report goes.
#[derive(Debug, Default)]
pub struct Options {
    /// The folder; by default in the target folder.
    pub out: Option<PathBuf>,
    /// The devices; by default [`EVERYTHING`] and [`OTHERS`].
    pub devices: Vec<String>,
    /// Only these operations, if there are any; by default every one on [`EVERYTHING`], and
    /// [`OWN_LINES`] on [`OTHERS`].
    pub ops: Vec<String>,
    /// Cases per cell, unless [`FULL_CASES`].
    pub cases: Option<String>,
}

impl Options {
    /// Whether only a part of the default report runs, which is not judged.
    fn is_partial(&self) -> bool {
        !self.devices.is_empty() || !self.ops.is_empty() || self.cases.is_some()
    }

    /// Returns each device and its operations: all of them, if none is named.
    fn parts(&self) -> Vec<(&str, Vec<&str>)> {
        let named: Vec<&str> = self.ops.iter().map(String::as_str).collect();
        if !self.devices.is_empty() {
            return self.devices.iter().map(|device| (device.as_str(), named.clone())).collect();
        }
        let of_others = if named.is_empty() { OWN_LINES.to_vec() } else { named.clone() };
        let others = OTHERS.iter().map(|device| (*device, of_others.clone()));
        std::iter::once((EVERYTHING, named)).chain(others).collect()
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
    for (device, ops) in options.parts() {
        let mut program = measured(simulators, device, &out, options)?;
        if !ops.is_empty() {
            program.args(["--ops", &ops.join(",")]);
        }
        shell::run(&mut program)?;
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
    program.args(["--cases", options.cases.as_deref().unwrap_or(FULL_CASES)]);
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_runs_on_one_device_unless_a_part_is_asked_for() {
        let own = OWN_LINES.to_vec();
        let all = Options::default();
        assert_eq!(all.parts(), [(EVERYTHING, vec![]), (OTHERS[0], own.clone()), (OTHERS[1], own)]);
        assert!(!all.is_partial());
        let some = Options { devices: vec!["sim-rocm:gfx942".into()], ops: vec!["exp".into()], ..Options::default() };
        assert_eq!(some.parts(), [("sim-rocm:gfx942", vec!["exp"])]);
        let exp = Options { devices: vec![], ..some };
        assert!(exp.parts().iter().all(|(_, ops)| ops == &["exp"]) && exp.parts().len() == 3 && exp.is_partial());
        assert_eq!(Options { devices: vec!["sim-cuda".into()], ..all }.parts(), [("sim-cuda", vec![])]);
    }
}
