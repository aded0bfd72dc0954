//! What was built, for the report.

use isobit_conformance::report::Build;
use std::process::Command;

/// Versions and flags.
pub fn info() -> Build {
    let (kernel_compiler, kernel_flags) = kernels();
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        git: git().unwrap_or_default(),
        rustc: env!("ISOBIT_RUSTC").into(),
        kernel_compiler,
        kernel_flags,
        numerics_version: Some(isobit_hal::NUMERICS_VERSION),
    }
}

#[cfg(feature = "cuda")]
fn kernels() -> (String, String) {
    let build = &isobit::cuda::BUILD;
    (build.compiler.into(), build.flags.into())
}

#[cfg(not(feature = "cuda"))]
fn kernels() -> (String, String) {
    Default::default()
}

/// The commit of the tree the program runs in; asked at run time, because a build that nothing
/// changed is not repeated for a commit.
fn git() -> Option<String> {
    let describe = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output().ok()?;
    describe.status.success().then(|| String::from_utf8_lossy(&describe.stdout).trim().to_string())
}
