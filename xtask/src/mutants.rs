//! `cargo xtask mutants`: builds the suite, the simulated GPUs and the runner of mutants, and
//! starts the runner.

use crate::conformance;
use crate::setup::{self, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::steps::Steps;
use crate::test::{FEATURES_CRATE, all_features};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// The package of the runner.
const RUNNER: &str = "isobit-mutants";

/// Arguments with which no mutant runs, so the suite is not needed.
const NOTHING_RUNS: [&str; 5] = ["--check", "--help", "-h", "--version", "-V"];

/// Builds the runner and what it needs, and passes it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let args: Vec<&String> = args.iter().filter(|arg| *arg != "--yes").collect();
    if args.iter().any(|arg| NOTHING_RUNS.contains(&arg.as_str())) {
        shell::build(cargo().args(["build", "--quiet", "--package", RUNNER, "--package", FEATURES_CRATE]))?;
        return hand_over(runner().args(&args));
    }
    let mut steps = Steps::default();
    // Mutants of NVIDIA kernels are compiled by NVIDIA's compiler, and one that cannot be compiled
    // is not tested. So all tools are needed.
    let nvrtc = steps.run("set-up", || {
        let lacking = setup::ensure(&[Need::Clang, Need::Lld, Need::Pip])?;
        if let [first, ..] = lacking[..] {
            anyhow::bail!("mutants are compiled on the devices, but {} is not on this machine", first.name());
        }
        NVRTC.get()
    })?;
    let simulators = steps.run("build", || {
        let simulators = conformance::build()?;
        shell::build(cargo().args(["build", "--package", RUNNER, "--package", FEATURES_CRATE]))?;
        Ok(simulators)
    })?;
    let mut runner = runner();
    runner.args(&args).arg("--program").arg(conformance::program(&simulators).get_program());
    runner.arg("--simulators").arg(&simulators);
    runner.arg(format!("--selection={}", conformance::SELECTION.join(",")));
    runner.arg(format!("--features={}", all_features().join(","))).args(["--unite", FEATURES_CRATE]);
    if std::env::var_os(NVRTC_VARIABLE).is_none() {
        runner.env(NVRTC_VARIABLE, nvrtc);
    }
    steps.run("mutants", || hand_over(&mut runner))
}

fn runner() -> Command {
    let mut runner = shell::told(target_dir().join("debug").join(RUNNER));
    // Compiled modules are found by their content, so the copy of the checkout can share them.
    if std::env::var_os("ISOBIT_KERNEL_CACHE").is_none() {
        runner.env("ISOBIT_KERNEL_CACHE", target_dir().join("kernels"));
    }
    runner
}
