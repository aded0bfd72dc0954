//! `cargo xtask bindings --check`: finds the official ROCm headers and compares the -sys crates
//! with them.

use crate::setup;
use crate::shell::{self, cargo, hand_over, root};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares with the headers in the given folders, or in the folders found on this machine. Fails
/// if there are none.
pub fn run(include: &[PathBuf]) -> Result<ExitCode> {
    let found = if include.is_empty() { headers() } else { include.to_vec() };
    if found.is_empty() {
        bail!(
            "no headers of ROCm were found: set ROCM_PATH, name their folder with --include, or run where apt-get can download \
             {} and {}",
            setup::HIP_HEADERS.package,
            setup::ROCRAND_HEADERS.package
        );
    }
    compare(&found)
}

/// Compares if there are headers; otherwise returns a message about what is skipped.
pub fn run_where_possible() -> Result<Option<String>> {
    let found = headers();
    if found.is_empty() {
        return Ok(Some("the comparison of the bindings with headers: this machine has no ROCm headers".into()));
    }
    if compare(&found)? != ExitCode::SUCCESS {
        bail!("the bindings differ from the official headers");
    }
    Ok(None)
}

fn compare(folders: &[PathBuf]) -> Result<ExitCode> {
    setup::ensure_libclang()?;
    let package = ["--package", "isobit-bindings"];
    shell::build(cargo().arg("build").args(package))?;
    let mut check = cargo();
    check.args(["run", "--quiet"]).args(package).args(["--", "--crates"]).arg(root().join("driver-rocm"));
    for folder in folders {
        check.arg("--include").arg(folder);
    }
    hand_over(&mut check)
}

/// Returns ROCm's headers if it is installed, else Debian's headers of HIP and rocRAND.
fn headers() -> Vec<PathBuf> {
    let installed = std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let folder = installed.join("include");
    if folder.join("hip/hip_runtime_api.h").is_file() {
        return vec![folder];
    }
    let unpacked =
        [setup::HIP_HEADERS, setup::ROCRAND_HEADERS].map(|headers| headers.get().map_err(|e| eprintln!("note: {e:#}")));
    // Both packages put their headers into the same usr/include.
    let folder = unpacked.into_iter().flatten().next().and_then(|f| Some(f.parent()?.parent()?.to_path_buf()));
    folder.filter(|f: &PathBuf| Path::is_dir(f)).into_iter().collect()
}
