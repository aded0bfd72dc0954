// Runs an example's program in tests, which include this file: only they know its path.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs a program with the simulators.
pub fn run(program: &str, arguments: &[&str]) -> Output {
    let simulators = std::env::var_os("ISOBIT_SIMGPU").map(PathBuf::from).unwrap_or_else(|| {
        isobit_simgpu_install::cuda()
            .and_then(|_| isobit_simgpu_install::rocm())
            .expect("the simulated GPUs are built");
        isobit_simgpu_install::folder().expect("they are installed in a folder")
    });
    Command::new(program).args(arguments).env("ISOBIT_SIMGPU", simulators).output().expect("the program starts")
}

/// Returns what a program printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
