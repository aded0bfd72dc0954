//! `cargo xtask onnx`: fetches the package `onnx`, writes its node tests to the target folder, and
//! starts the program that runs them on each device.

use crate::conformance;
use crate::setup::{self, Fetched, ML_DTYPES, NUMPY, Need, ONNX, PROTOBUF, TYPING_EXTENSIONS, Wheel};
use crate::shell::{self, cargo, quietly, root, target_dir};
use crate::steps::Steps;
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

/// The options of the task.
#[derive(Debug, Default)]
pub struct Options {
    /// The devices.
    pub devices: Vec<String>,
    /// Only the cases whose name contains this.
    pub filter: Option<String>,
    /// Whether to name the cases that are not expressed or listed.
    pub verbose: bool,
}

/// The package of the program.
const RUNNER: &str = "isobit-onnx";

/// The devices if the user names none.
pub const DEVICES: [&str; 3] = [CPU, "sim-cuda", "sim-rocm:gfx90a"];

/// The device that needs no kernels.
pub const CPU: &str = "cpu";

/// The package with what it imports.
const PYTHON: [Wheel; 5] = [ONNX, NUMPY, ML_DTYPES, PROTOBUF, TYPING_EXTENSIONS];

/// Runs the cases on each device.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut steps = Steps::default();
    let devices: Vec<&str> = match options.devices.is_empty() {
        true => DEVICES.to_vec(),
        false => options.devices.iter().map(String::as_str).collect(),
    };
    let has_kernels = devices.iter().any(|&device| device != CPU);
    steps.run("set-up", || {
        let crates = Fetched::start(setup::fetch_crates);
        let needs = [Need::Pip, Need::Clang, Need::Lld];
        setup::ensure(if has_kernels { &needs } else { &needs[..1] })?;
        crates.wait()
    })?;
    let cases = steps.run("cases", || cases().context("the node tests of ONNX were not run"))?;
    let simulators = steps.run("build", || {
        let simulators = if has_kernels { Some(conformance::build()?) } else { None };
        build(has_kernels)?;
        Ok(simulators)
    })?;
    let mut worst = ExitCode::SUCCESS;
    for device in devices {
        let mut program = program(&cases, device, simulators.as_deref());
        program.args(options.filter.iter().flat_map(|text| ["--filter", text]));
        program.args(options.verbose.then_some("--verbose"));
        let code = steps.run(device, || shell::hand_over(&mut program))?;
        if code != ExitCode::SUCCESS {
            worst = code;
        }
    }
    Ok(worst)
}

/// Builds the program, with every driver or with none.
pub fn build(has_kernels: bool) -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--package", RUNNER, "--package", FEATURES_CRATE]);
    if has_kernels {
        build.args(features_of(&[RUNNER]));
    }
    shell::build(&mut build)
}

/// Returns a command that runs the cases on a device.
pub fn program(cases: &Path, device: &str, simulators: Option<&Path>) -> Command {
    let mut program = Command::new(target_dir().join("debug").join(RUNNER));
    program.arg("--cases").arg(cases).args(["--device", device]);
    if let Some(simulators) = simulators {
        program.env("ISOBIT_SIMGPU", simulators);
    }
    program
}

/// Writes the cases, unless they are there, and returns their folder.
///
/// # Errors
/// Fails if the package cannot be fetched, or with what the script prints.
pub fn cases() -> Result<PathBuf> {
    let script = root().join("conformance/onnx/cases.py");
    let packages: Vec<PathBuf> = PYTHON.iter().map(|wheel| folder(*wheel)).collect::<Result<_>>()?;
    let folder = target_dir().join("onnx");
    let changed = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let sources: Option<SystemTime> = changed(&script).max(changed(&ONNX.path()));
    if changed(&folder.join("cases.json")).is_some_and(|written| Some(written) > sources) {
        return Ok(folder);
    }
    let mut python = Command::new("python3");
    python.arg(&script).arg(&folder);
    // The sources stay as they are.
    python.env("PYTHONPATH", std::env::join_paths(packages)?).env("PYTHONDONTWRITEBYTECODE", "1");
    quietly(&mut python)?;
    Ok(folder)
}

/// Fetches a package, and returns the folder from which Python imports it.
fn folder(wheel: Wheel) -> Result<PathBuf> {
    let path = wheel.get()?;
    let folder = holding(&path, wheel.file);
    Ok(folder.with_context(|| format!("{} is in no folder", path.display()))?.to_path_buf())
}

/// Returns the folder in which a path lies that ends with `file`.
fn holding<'a>(path: &'a Path, file: &str) -> Option<&'a Path> {
    path.ancestors().nth(Path::new(file).components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_imported_from_the_folder_that_holds_them() {
        for (path, file) in [
            ("/a/onnx-1/onnx/__init__.py", "onnx/__init__.py"),
            ("/a/onnx-1/google/protobuf/__init__.py", "google/protobuf/__init__.py"),
            ("/a/onnx-1/typing_extensions.py", "typing_extensions.py"),
        ] {
            assert_eq!(holding(Path::new(path), file), Some(Path::new("/a/onnx-1")));
        }
    }
}
