//! `cargo xtask conformance`: builds the report's program with every driver and the simulated GPUs, and starts it.

use crate::setup;
use crate::shell::{self, cargo, hand_over, target_dir};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Builds the program and hands it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let simulators = build()?;
    // A simulated NVIDIA GPU compiles a user's own kernels with NVIDIA's compiler.
    let devices_named = args.iter().any(|a| a.starts_with("--devices"));
    if !devices_named || args.iter().any(|a| a.contains("sim-cuda")) {
        setup::ensure_nvrtc();
    }
    hand_over(program(&simulators).args(args))
}

/// Builds the program and the simulated GPUs, and lays the latter out in the folder it gives. Built with the profile of the tests, whose
/// artefacts it shares; that profile is optimised.
pub fn build() -> Result<PathBuf> {
    setup::ensure_clang()?;
    let printed = shell::output(cargo().args(["run", "--quiet", "--package", "isobit-simgpu-stage"]))?;
    Ok(printed.into())
}

/// The built program, with the simulated GPUs of a folder, and the compiler that one of NVIDIA's needs where it was installed.
pub fn program(simulators: &Path) -> Command {
    let mut command = Command::new(target_dir().join("debug").join("isobit-conformance"));
    command.env("ISOBIT_SIMGPU", simulators);
    if let (None, Some(nvrtc)) = (std::env::var_os(setup::NVRTC_VARIABLE), setup::found_nvrtc()) {
        command.env(setup::NVRTC_VARIABLE, nvrtc);
    }
    command
}
