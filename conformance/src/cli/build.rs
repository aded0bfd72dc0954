//! Information about the build, for the report.

use isobit_conformance::report::Build;
use std::process::Command;

/// Returns the versions and flags of this build.
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

/// Returns the commit of the tree that the program runs in. It is queried at run time because a
/// commit that changes no source does not trigger a rebuild.
fn git() -> Option<String> {
    let describe = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output().ok()?;
    describe.status.success().then(|| String::from_utf8_lossy(&describe.stdout).trim().to_string())
}
