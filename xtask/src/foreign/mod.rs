//! `cargo xtask foreign`: other people's programs on the simulated GPUs. cudarc's own tests call
//! NVIDIA's interfaces as a binding does, and Debian's rocSPARSE has kernels that no compiler of
//! this project produced.

mod cudarc;
mod listed;
mod rocsparse;

use crate::conformance;
use crate::setup::{self, Need};
use crate::steps::Steps;
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

pub use rocsparse::Extent;

/// A program, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The tests of the package cudarc, of the version in `Cargo.lock`.
    Cudarc,
    /// Debian's librocsparse, compared with SciPy.
    Rocsparse,
}

impl Program {
    /// All, in the order in which they run.
    pub const ALL: [Self; 2] = [Self::Cudarc, Self::Rocsparse];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cudarc => "cudarc",
            Self::Rocsparse => "rocsparse",
        }
    }

    /// Runs it completely, with the simulated GPUs in a folder.
    pub fn run(self, simulators: &Path) -> Result<()> {
        match self {
            Self::Cudarc => cudarc::run(simulators),
            Self::Rocsparse => rocsparse::run(simulators, Extent::All),
        }
    }
}

/// Builds the simulated GPUs and runs the named programs, or all.
pub fn run(names: &[String]) -> Result<ExitCode> {
    let mut steps = Steps::default();
    let simulators = steps.run("simulated GPUs", || {
        setup::ensure(&[Need::Clang, Need::Lld, Need::Pip])?;
        conformance::build()
    })?;
    let chosen = |program: &&Program| names.is_empty() || names.iter().any(|name| name == program.name());
    for program in Program::ALL.iter().filter(chosen) {
        steps.run(program.name(), || program.run(&simulators))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a part of the programs that takes seconds and whose packages are there. Returns what was
/// not run, with how to run it.
pub fn briefly(steps: &mut Steps, simulators: &Path) -> Result<Option<String>> {
    if !rocsparse::is_fetched() {
        let how = "`cargo xtask foreign rocsparse` fetches the packages, 160 MB, and runs it";
        return Ok(Some(format!("Debian's rocSPARSE on a simulated GPU: {how}")));
    }
    steps.run("rocSPARSE, briefly", || rocsparse::run(simulators, Extent::Brief))?;
    Ok(None)
}
