//! `cargo xtask bench`: builds the benchmark with optimisation and starts it.

use crate::shell::{self, cargo, hand_over, target_dir};
use crate::{conformance, setup};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// Builds the program and passes it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    if args.iter().any(|arg| arg == "--from" || arg.starts_with("--from=")) {
        return shown(args);
    }
    setup::ensure_clang()?;
    shell::build(cargo().args(["build", "--release", "--package", "isobit-bench"]))?;
    let program = || Command::new(target_dir().join("release").join("isobit-bench"));
    if args.iter().any(|arg| arg == "--simgpu") {
        return simulated(program, args);
    }
    hand_over(program().args(args))
}

/// Shows an earlier benchmark. Nothing is measured, so the program needs neither kernels nor
/// optimisation, and has a folder of its own: with other settings, the build of measurements would
/// start again.
fn shown(args: &[String]) -> Result<ExitCode> {
    let folder = target_dir().join("bench-from");
    let mut build = cargo();
    build.args(["build", "--package", "isobit-bench", "--target-dir"]).arg(&folder);
    shell::run(build.env("ISOBIT_CLANG", "none"))?;
    hand_over(Command::new(folder.join("debug").join("isobit-bench")).args(args))
}

/// Measures the simulated GPUs of the architectures in a development build, one after the other on
/// one core.
fn simulated(program: impl Fn() -> Command, args: &[String]) -> Result<ExitCode> {
    let simulators = conformance::build()?;
    let vendors =
        [("cuda", "ISOBIT_SIM_CUDA", &["sm_80"][..]), ("rocm", "ISOBIT_SIM_ROCM", &["gfx90a", "gfx942", "gfx1100"])];
    for (driver, variable, cards) in vendors {
        let root = simulators.join(driver);
        for card in cards {
            let mut measured = program();
            measured.args(args).args(["--device", &format!("{driver}:0")]);
            measured.env("ROCM_PATH", &root).env("LD_LIBRARY_PATH", root.join("lib"));
            shell::run(measured.env(variable, card).env("ISOBIT_SIM_THREADS", "1"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
