//! `cargo xtask conformance`: builds the report's program with every driver and the simulated GPUs,
//! and starts it.

use crate::setup::{self, Fetched, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::steps::Steps;
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Builds the program and hands it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let args: Vec<&String> = args.iter().filter(|arg| *arg != "--yes").collect();
    // A simulated NVIDIA GPU compiles a user's own kernels with NVIDIA's compiler.
    let devices_named = args.iter().any(|a| a.starts_with("--devices"));
    let compiles = !devices_named || args.iter().any(|a| a.contains("sim-cuda"));
    let mut steps = Steps::default();
    let nvrtc = steps.run("set-up", || {
        let crates = Fetched::start(setup::fetch_crates);
        let lacking =
            setup::ensure(if compiles { &[Need::Clang, Need::Lld, Need::Pip] } else { &[Need::Clang, Need::Lld] })?;
        crates.wait()?;
        // Fetched while the rest is built.
        Ok((compiles && !lacking.contains(&Need::Pip)).then(|| Fetched::start(|| NVRTC.get())))
    })?;
    let simulators = steps.run("build", || {
        let simulators = build()?;
        if let Some(Err(e)) = nvrtc.map(Fetched::wait) {
            eprintln!("note: {e:#}; {}", Need::Pip.without());
        }
        Ok(simulators)
    })?;
    steps.run("report", || hand_over(program(&simulators).args(args)))
}

/// What is built together: cargo unites the features of what it builds in one go, so that a
/// simulator and the program share what they can.
pub const SELECTION: [&str; 6] =
    ["--package", "isobit-simgpu-*", "--package", "isobit-conformance", "--package", FEATURES_CRATE];

/// Builds the program and the simulated GPUs, and lays the latter out in the folder it gives. Built
/// with the profile of the tests, whose artefacts it shares; that profile is optimised.
pub fn build() -> Result<PathBuf> {
    build_in(&target_dir(), &[])
}

/// As [`build`], in another target folder and with variables of its own.
pub fn build_in(target: &Path, variables: &[(&str, OsString)]) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--target-dir"]).arg(target).args(SELECTION).args(features_of(&["isobit-conformance"]));
    shell::build(build.envs(variables.iter().cloned()))?;
    // It asks cargo for the same again, and finds it done.
    let mut install = shell::told(target.join("debug").join("isobit-simgpu-install"));
    Ok(shell::output(install.envs(variables.iter().cloned()))?.into())
}

/// The built program, with the simulated GPUs of a folder, and the compiler that one of NVIDIA's
/// needs where it was fetched.
pub fn program(simulators: &Path) -> Command {
    program_of(&target_dir(), simulators)
}

/// As [`program`], of another target folder.
pub fn program_of(target: &Path, simulators: &Path) -> Command {
    let mut command = Command::new(target.join("debug").join("isobit-conformance"));
    command.env("ISOBIT_SIMGPU", simulators);
    if let (None, Some(nvrtc)) = (std::env::var_os(NVRTC_VARIABLE), NVRTC.found()) {
        command.env(NVRTC_VARIABLE, nvrtc);
    }
    command
}
