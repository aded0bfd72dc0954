//! `cargo xtask conformance`: builds the conformance program with every driver and the simulated
//! GPUs, and starts it.

use crate::setup::{self, Fetched, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::steps::Steps;
use crate::submit;
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Builds the program and passes it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let args: Vec<&String> = args.iter().filter(|arg| *arg != "--yes").collect();
    // A simulated NVIDIA GPU compiles user kernels with NVIDIA's compiler.
    let devices_named = args.iter().any(|a| a.starts_with("--devices"));
    let compiles = !devices_named || args.iter().any(|a| a.contains("sim-cuda"));
    let mut steps = Steps::default();
    let nvrtc = steps.run("set-up", || {
        let crates = Fetched::start(setup::fetch_crates);
        let lacking =
            setup::ensure(if compiles { &[Need::Clang, Need::Lld, Need::Pip] } else { &[Need::Clang, Need::Lld] })?;
        crates.wait()?;
        // Downloaded while the rest is built.
        Ok((compiles && !lacking.contains(&Need::Pip)).then(|| Fetched::start(|| NVRTC.get())))
    })?;
    let simulators = steps.run("build", || {
        let simulators = build()?;
        if let Some(Err(e)) = nvrtc.map(Fetched::wait) {
            eprintln!("note: {e:#}; {}", Need::Pip.without());
        }
        Ok(simulators)
    })?;
    let code = steps.run("report", || hand_over(program(&simulators).args(&args)))?;
    let could_not_run = code == ExitCode::from(2);
    if args.iter().any(|arg| *arg == submit::FLAG) && !could_not_run {
        steps.run("archive", || submit::pack(&submit::out_of(&args)))?;
    }
    Ok(code)
}

/// The packages built together. Cargo unifies the features of packages that it builds together, so
/// the simulators and the program share as many builds as possible.
pub const SELECTION: [&str; 6] =
    ["--package", "isobit-simgpu-*", "--package", "isobit-conformance", "--package", FEATURES_CRATE];

/// Builds the program and the simulated GPUs, installs the simulated GPUs in a folder, and returns
/// the folder. Uses the test profile, which is optimised, to share its artefacts.
pub fn build() -> Result<PathBuf> {
    build_in(&target_dir(), &[])
}

/// Like [`build`], in another target folder and with additional variables.
pub fn build_in(target: &Path, variables: &[(&str, OsString)]) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--target-dir"]).arg(target).args(SELECTION).args(features_of(&["isobit-conformance"]));
    shell::build(build.envs(variables.iter().cloned()))?;
    // It asks cargo to build the same, which is already done.
    let mut install = shell::told(target.join("debug").join("isobit-simgpu-install"));
    Ok(shell::output(install.envs(variables.iter().cloned()))?.into())
}

/// Returns a command for the built program, with the simulated GPUs of a folder and with NVRTC for
/// the simulated NVIDIA GPU, if it was downloaded.
pub fn program(simulators: &Path) -> Command {
    program_of(&target_dir(), simulators)
}

/// Like [`program`], for another target folder.
pub fn program_of(target: &Path, simulators: &Path) -> Command {
    let mut command = Command::new(target.join("debug").join("isobit-conformance"));
    command.env("ISOBIT_SIMGPU", simulators);
    if let (None, Some(nvrtc)) = (std::env::var_os(NVRTC_VARIABLE), NVRTC.found()) {
        command.env(NVRTC_VARIABLE, nvrtc);
    }
    command
}
