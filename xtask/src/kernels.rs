//! `cargo xtask kernels`: compiles only the kernel tree.

use crate::shell::cargo;
use crate::{occupancy, resources, setup, shell};
use anyhow::Result;
use std::process::{Command, ExitCode};

/// The published architectures; development and CI builds have fewer.
pub const ALL_CUDA: &str = "sm_75,sm_80,sm_90";
/// The published architectures; see [`ALL_CUDA`].
pub const ALL_ROCM: &str = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201";

/// Returns every published architecture.
pub fn packaged() -> impl Iterator<Item = &'static str> {
    [ALL_CUDA, ALL_ROCM].into_iter().flat_map(|archs| archs.split(','))
}

/// Makes a build compile for every published architecture.
pub fn for_all(command: &mut Command) -> &mut Command {
    command.env("ISOBIT_CUDA_ARCHS", ALL_CUDA).env("ISOBIT_ROCM_ARCHS", ALL_ROCM)
}

/// What is done with the kernels.
#[derive(Debug, Default)]
pub struct Options {
    /// Compiles for every published architecture.
    pub all: bool,
    /// Prints what they use.
    pub resources: bool,
    /// Judges those for AMD.
    pub occupancy: bool,
    /// Writes the table of the judged ones.
    pub table: bool,
}

/// Compiles the kernels, and prints their resources if requested.
pub fn run(options: &Options) -> Result<ExitCode> {
    setup::ensure_clang()?;
    let with_archs = |mut command: Command| {
        if options.all {
            for_all(&mut command);
        }
        command
    };
    if options.occupancy {
        return occupancy::run(with_archs, options.table);
    }
    shell::run(&mut with_archs(build(&["--lib"])))?;
    if options.resources {
        let folder = shell::target_dir().join("kernel-code");
        let mut export = with_archs(cargo());
        export.args([
            "run",
            "--quiet",
            "--package",
            "isobit-kernels",
            "--features",
            "cuda,rocm",
            "--example",
            "export_code",
            "--",
        ]);
        shell::run(export.arg(&folder))?;
        resources::print(&folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn build(args: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["build", "--package", "isobit-kernels", "--features", "cuda,rocm"]).args(args);
    command
}
