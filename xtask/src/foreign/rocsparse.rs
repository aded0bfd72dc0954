//! Debian's rocSPARSE on a simulated gfx90a, compared with SciPy by `simgpu/foreign/rocsparse`.

use crate::setup::{NUMPY, ROCSPARSE, SCIPY, Wheel};
use crate::shell::{self, root};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    All,
    /// A part of the checks, in seconds.
    Brief,
}

const PYTHON: [Wheel; 2] = [NUMPY, SCIPY];

/// Whether the packages were fetched before.
pub fn is_fetched() -> bool {
    ROCSPARSE.path().exists() && PYTHON.iter().all(|wheel| wheel.found().is_some())
}

/// Runs the checks, and fetches the packages if they are missing.
pub fn run(simulators: &Path, extent: Extent) -> Result<()> {
    let library = folder(ROCSPARSE.get()?)?;
    let packages: Vec<PathBuf> =
        PYTHON.iter().map(|wheel| wheel.get().and_then(folder).and_then(folder)).collect::<Result<_>>()?;
    let home = simulators.join("rocm");
    let mut python = shell::told("python3");
    python.arg(root().join("simgpu/foreign/rocsparse/main.py"));
    if extent == Extent::Brief {
        python.arg("--brief");
    }
    python.env("LD_LIBRARY_PATH", std::env::join_paths([home.join("lib"), library])?).env("ROCM_PATH", home);
    // The Debian build has code for it; of the other simulated cards it knows none.
    python.env("ISOBIT_SIM_ROCM", "gfx90a");
    // The sources stay as they are.
    python.env("PYTHONPATH", std::env::join_paths(packages)?).env("PYTHONDONTWRITEBYTECODE", "1");
    shell::run(&mut python)
}

fn folder(of: PathBuf) -> Result<PathBuf> {
    Ok(of.parent().with_context(|| format!("{} is in no folder", of.display()))?.to_path_buf())
}
