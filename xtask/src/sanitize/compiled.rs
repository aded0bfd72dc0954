//! Checkers that the compiler builds into the tests, and models. Each has its own target folder,
//! because its flags would cause a developer's next build to start from scratch.

use crate::conformance;
use crate::shell::{self, cargo, root, target_dir};
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

const HOST: &str = "x86_64-unknown-linux-gnu";

/// Packages whose tests need no device: the HAL with its CPU reference, the host code of the
/// drivers, and the memory of the simulated GPUs.
const WITHOUT_DEVICE: [&str; 3] = ["isobit-hal", "isobit-kernels", "isobit-simgpu-core"];

/// Packages whose tests run on simulated GPUs.
const DRIVERS: [&str; 2] = ["isobit-cuda", "isobit-rocm"];

fn folder(checker: &str) -> PathBuf {
    target_dir().join("sanitize").join(checker)
}

fn packages(names: &[&'static str]) -> impl Iterator<Item = &'static str> {
    names.iter().flat_map(|name| ["--package", *name])
}

/// Returns a cargo for a nightly toolchain. The cargo that started this task would ignore the
/// toolchain's name.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").current_dir(root()).env_remove("RUSTUP_TOOLCHAIN").env("ISOBIT_CLANG", "none");
    command
}

/// Returns what is missing for a checker that needs a nightly toolchain with a component.
pub fn lacks_nightly(component: &str) -> Option<String> {
    let listed = Command::new("rustup").args(["component", "list", "--installed", "--toolchain", "nightly"]).output();
    let has = |text: &str| text.lines().any(|line| line.starts_with(component));
    let found = listed.is_ok_and(|o| o.status.success() && has(&String::from_utf8_lossy(&o.stdout)));
    let install = format!("`rustup toolchain install nightly --component {component}`");
    (!found).then(|| format!("it needs a nightly Rust with {component}: {install}"))
}

/// Runs the models of `isobit-kernels`, which no other test shares a build with.
pub fn loom() -> Result<()> {
    let mut models = cargo();
    models.args(["test", "--package", "isobit-kernels", "--lib", "models"]);
    models.arg("--target-dir").arg(folder("loom"));
    models.env("RUSTFLAGS", "--cfg loom").env("ISOBIT_CLANG", "none");
    shell::run(&mut models)
}

/// Runs tests with AddressSanitizer. The stable compiler has it behind a switch; the standard
/// library is not instrumented, so an invalid access within it is found only where it calls a
/// function of C, such as `memcpy`. Simulated libraries are not instrumented either, but share the
/// allocator that knows the bounds.
pub fn address() -> Result<()> {
    let instrumented = |what: &str| {
        let mut tests = cargo();
        tests.args([what, "--target", HOST, "--target-dir"]).arg(folder("address"));
        tests.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
        tests
    };
    let mut tests = instrumented("test");
    shell::run(tests.args(packages(&WITHOUT_DEVICE)).args(["--lib", "--tests"]).env("ISOBIT_CLANG", "none"))?;
    let simulators = conformance::build()?;
    let mut tests = instrumented("test");
    tests.args(packages(&DRIVERS)).args(["--package", FEATURES_CRATE, "--tests"]).args(features_of(&DRIVERS));
    // The kernels are the same as those of the other builds.
    let cache = std::env::var_os("ISOBIT_KERNEL_CACHE").unwrap_or_else(|| target_dir().join("kernels").into());
    tests.env("ISOBIT_KERNEL_CACHE", cache).env("ISOBIT_SIMGPU", simulators);
    // A vendor's library keeps its state until the process ends, and so do the simulated ones,
    // which are unloaded before the leaks are listed.
    shell::run(tests.env("ASAN_OPTIONS", "detect_leaks=0"))
}

/// Runs tests with ThreadSanitizer and an instrumented standard library: without it, the order that
/// `Arc` establishes with a fence looks like a race.
pub fn thread() -> Result<()> {
    let mut tests = nightly();
    tests.args(["test", "-Zbuild-std", "--target", HOST, "--target-dir"]).arg(folder("thread"));
    tests.args(packages(&["isobit-hal", "isobit-kernels"])).args(["--lib", "--tests"]);
    shell::run(tests.env("RUSTFLAGS", "-Zsanitizer=thread"))
}

/// Interprets tests with Miri: the unit tests of the drivers' host code and of the simulated
/// memory, which have unsafe code and need no C library.
pub fn miri() -> Result<()> {
    let mut tests = nightly();
    tests.args(["miri", "test", "--target-dir"]).arg(folder("miri"));
    tests.args(packages(&["isobit-kernels", "isobit-simgpu-core"])).args(["--lib", "--", MIRI]);
    // Tests read files of the checkout and clocks.
    shell::run(tests.env("MIRIFLAGS", "-Zmiri-disable-isolation"))
}

/// The tests that Miri interprets: those of memory. Tests of numbers take hours.
const MIRI: &str = "memory";
