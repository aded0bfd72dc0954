//! The long tests of `cargo xtask test --full`, in addition to the tests that are otherwise
//! ignored.

use super::{BINDINGS, GROUPS, Tests, features_of, package, shifted};
use crate::foreign::Program;
use crate::kernels::{ALL_CUDA, ALL_ROCM};
use crate::shell::{self, cargo, target_dir};
use crate::{bindings, candle, conformance, coverage, sanitize};
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::ExitCode;

/// Runs the long tests.
pub fn run(tests: &mut Tests, simulators: &Path) -> Result<()> {
    tests.steps.run("documentation", documentation)?;
    tests.steps.run("lints and tests of the bindings' check", || {
        shell::run(cargo().args(["clippy", "--all-targets", "--package", BINDINGS, "--", "--deny", "warnings"]))?;
        shell::run(cargo().args(["test", "--package", BINDINGS]))
    })?;
    let compared = tests.steps.run("bindings", bindings::run_where_possible)?;
    tests.left_out.extend(compared);
    tests.steps.run("shifted approximations", || {
        for (approximation, deferred) in [("+1", "0"), ("-1", "1")] {
            shell::run(&mut shifted(simulators, approximation, deferred, &["--cases", "8"]))?;
        }
        Ok(())
    })?;
    // Runs the groups once more in a mode in which a missing wait gives a wrong result.
    tests.steps.run("deferred work", || {
        let mut deferred = conformance::program(simulators);
        deferred.env("ISOBIT_SIM_DEFER", "1").args(["--devices", "sim-cuda,sim-rocm:gfx90a", "--ops", GROUPS, "--out"]);
        shell::run(deferred.arg(target_dir().join("conformance-deferred")))
    })?;
    tests.steps.run("every architecture", every_architecture)?;
    tests.steps.run("planted faults", || {
        let mut planted = shell::told(target_dir().join("debug").join("isobit-simgpu-planted"));
        shell::run(planted.arg("--out").arg(target_dir().join("planted")))
    })?;
    tests.steps.run("lines and kernels that no case executes", || {
        let code = coverage::report(simulators, &coverage::Options::default())?;
        ensure!(code == ExitCode::SUCCESS, "a line or a kernel is reached by no case, or a reason is stale");
        Ok(())
    })?;
    let unwatched = sanitize::chosen(&mut tests.steps, &[])?;
    tests.left_out.extend(unwatched);
    for program in Program::ALL {
        tests.steps.run(program.name(), || program.run(simulators))?;
    }
    tests.steps.run("candle", || {
        let devices = ["cpu", "sim-cuda", "sim-rocm:gfx90a", "sim-rocm:gfx1100"].map(String::from).to_vec();
        let code = candle::run(&candle::Options { test: true, devices, ..Default::default() })?;
        ensure!(code == ExitCode::SUCCESS, "candle's tests fail on Isobit");
        Ok(())
    })
}

fn documentation() -> Result<()> {
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--quiet", "--exclude", BINDINGS]).args(features_of(package::ALL));
    shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Compiles for every published architecture, and tests those that can be simulated but are not by
/// default. Uses a separate target folder, because a different set of architectures would cause a
/// developer's next build to start from scratch.
fn every_architecture() -> Result<()> {
    let folder = target_dir().join("every-architecture");
    // The cache identifies compiled kernels by content, so existing ones can be reused.
    let cache = std::env::var_os("ISOBIT_KERNEL_CACHE").unwrap_or_else(|| target_dir().join("kernels").into());
    let archs = [("ISOBIT_CUDA_ARCHS", ALL_CUDA.into()), ("ISOBIT_ROCM_ARCHS", ALL_ROCM.into())];
    let simulators = conformance::build_in(&folder, &[&archs[..], &[("ISOBIT_KERNEL_CACHE", cache)]].concat())?;
    let mut program = conformance::program_of(&folder, &simulators);
    program.args(["--devices", "cpu,sim-cuda:sm_75,sim-cuda:sm_90,sim-rocm:gfx942", "--quick", "--out"]);
    shell::run(program.arg(target_dir().join("conformance-architectures")))
}
