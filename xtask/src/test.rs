//! `cargo xtask test`: everything that must hold before a change lands.

use crate::shell::{self, cargo, hand_over, target_dir};
use crate::{bindings, conformance, model, setup};
use anyhow::Result;
use std::process::ExitCode;

/// Every driver is built, whatever this machine has.
const FEATURES: [&str; 2] = [
    "--features",
    "isobit/cuda,isobit/rocm,isobit-kernels/cuda,isobit-kernels/rocm,isobit-conformance/cli,isobit-conformance/cuda,\
     isobit-conformance/rocm,isobit-embed/cuda,isobit-embed/rocm",
];

/// Runs all checks, or, with a filter, the tests of that name.
pub fn run(filter: Option<&str>) -> Result<ExitCode> {
    setup::ensure_llvm()?;
    setup::ensure_debian(setup::ROCRAND);
    // Tests ask for the simulators themselves; built here once, they find them done.
    let simulators = conformance::build()?;
    let mut tests = cargo();
    tests.args(["test", "--workspace"]).args(FEATURES).env("ISOBIT_SIMGPU", &simulators);
    tests.env("ISOBIT_MINILM", model::fetch());
    if let Some(nvrtc) = setup::ensure_nvrtc() {
        tests.env(setup::NVRTC_VARIABLE, nvrtc);
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
    bindings::run_where_possible()?;
    shell::run(conformance::program(&simulators).args(["--matrix", "--check"]))?;
    // No result may depend on which approximation a card's reciprocals and roots give, nor on work being done before it is waited for.
    for (approximation, deferred) in [("+1", "0"), ("-1", "1")] {
        let mut shifted = conformance::program(&simulators);
        shifted.env("ISOBIT_SIM_APPROX", approximation).env("ISOBIT_SIM_DEFER", deferred);
        shifted.args(["--devices", "sim-cuda,sim-rocm:gfx90a,sim-rocm:gfx1100", "--cases", "8", "--out"]);
        shell::run(shifted.arg(target_dir().join("conformance-shifted")))?;
    }
    // What surrounds the operations once more where a missing wait gives a wrong result.
    let mut deferred = conformance::program(&simulators);
    deferred.env("ISOBIT_SIM_DEFER", "1").args(["--devices", "sim-cuda,sim-rocm:gfx90a", "--ops", "device.", "--out"]);
    shell::run(deferred.arg(target_dir().join("conformance-deferred")))?;
    hand_over(conformance::program(&simulators).arg("--quick"))
}
