//! `cargo xtask test`: everything that must hold before a change lands.

use crate::shell::{self, cargo, hand_over};
use crate::{conformance, setup};
use anyhow::Result;
use std::process::ExitCode;

/// Every driver is built, whatever this machine has.
const FEATURES: [&str; 2] = [
    "--features",
    "isobit/cuda,isobit-kernels/cuda,isobit-kernels/rocm,isobit-conformance/cli,isobit-conformance/cuda",
];

/// Runs all checks, or, with a filter, the tests of that name.
pub fn run(filter: Option<&str>) -> Result<ExitCode> {
    setup::ensure_clang()?;
    let mut tests = cargo();
    tests.args(["test", "--workspace"]).args(FEATURES);
    if let Some(nvrtc) = setup::ensure_nvrtc() {
        tests.env("ISOBIT_NVRTC", nvrtc);
    }
    if let Some(filter) = filter {
        return hand_over(tests.arg(filter));
    }
    shell::run(cargo().args(["fmt", "--all", "--check"]))?;
    shell::run(
        cargo().args(["clippy", "--workspace", "--all-targets"]).args(FEATURES).args(["--", "--deny", "warnings"]),
    )?;
    shell::run(
        cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).args(FEATURES).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    shell::run(&mut tests)?;
    conformance::build()?;
    hand_over(conformance::program().arg("--quick"))
}
