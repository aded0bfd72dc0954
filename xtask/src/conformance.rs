//! `cargo xtask conformance`: builds the conformance program with every driver and the simulated
//! GPUs, and starts it.

use crate::setup::{self, Fetched, NVRTC, NVRTC_VARIABLE, Need};
use crate::shell::{self, cargo, hand_over, target_dir};
use crate::steps::Steps;
use crate::submit;
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Builds the program and passes it the arguments.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let args: Vec<&String> = args.iter().filter(|arg| *arg != "--yes").collect();
    if args.iter().any(|arg| ["--help", "-h"].contains(&arg.as_str())) {
        // Without drivers, hence without kernels: minutes earlier.
        let program = ["--package", "isobit-conformance", "--features", "cli", "--bin", "isobit-conformance"];
        return hand_over(cargo().arg("run").args(program).arg("--").args(&args));
    }
    let cells = std::fs::read_to_string(shell::root().join("conformance/cells.tsv"))?;
    operations_exist(&args, &cells)?;
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

/// Refuses an unknown name of an operation at once: the program would, too, but is not built yet.
/// `cells` is the table of all cells. The `--ops` of a subcommand is a number.
fn operations_exist(args: &[&String], cells: &str) -> Result<()> {
    if args.first().is_some_and(|arg| !arg.starts_with('-')) {
        return Ok(());
    }
    let names: BTreeSet<&str> = cells.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let named = args.iter().enumerate().filter_map(|(i, arg)| match arg.strip_prefix("--ops")? {
        "" => args.get(i + 1).map(|list| list.as_str()),
        list => list.strip_prefix('='),
    });
    // The program knows the groups, whose names begin with `device.`.
    let is_known = |name: &str| names.contains(name) || name.starts_with("device.");
    let Some(name) = named.flat_map(|list| list.split(',')).find(|name| !is_known(name)) else { return Ok(()) };
    let near: Vec<&str> = names.iter().copied().filter(|known| known.contains(name) && !name.is_empty()).collect();
    match near.is_empty() {
        true => bail!("no operation is named `{name}`; the first column of conformance/cells.tsv has all names"),
        false => bail!("no operation is named `{name}`; there are {}", near.join(", ")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_operations_are_refused_before_anything_is_built() {
        let cells = "op\tdtypes\nadd\tf32\ncopy2d\tf32\ncopy2d\tf16\n";
        let check = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
            operations_exist(&args.iter().collect::<Vec<_>>(), cells).map_err(|e| e.to_string())
        };
        assert_eq!(check(&["--quick"]), Ok(()));
        assert_eq!(check(&["stress", "--device", "cuda:0", "--ops", "1000"]), Ok(()));
        assert_eq!(check(&["--ops", "add,device.graph", "--ops=copy2d", "--ops"]), Ok(()));
        let copy = "no operation is named `copy`; there are copy2d";
        assert_eq!(check(&["--ops", "add,copy"]).unwrap_err(), copy);
        assert_eq!(check(&["--ops=copy"]).unwrap_err(), copy);
        assert!(check(&["--ops", "mul"]).unwrap_err().ends_with("cells.tsv has all names"));
    }
}
