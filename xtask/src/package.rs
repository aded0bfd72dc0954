//! `cargo xtask package`: packages everything that is published, with compiled kernels, checks it
//! as a registry would, and tests it with a program that uses it.

mod prove;
mod registry;

use crate::shell::{self, cargo, root, target_dir};
use crate::{kernels, setup};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Maximum size of a data crate's file in a registry, and of any other crate's file.
const DATA_LIMIT: u64 = 5_000_000;
const LIMIT: u64 = 10_000_000;

/// Options of the task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether to package even if files are not committed.
    pub allow_dirty: bool,
    /// Whether to use the compiled kernels of the data crates as they are.
    pub keep_kernels: bool,
    /// Whether to build and run a program that depends on the packages.
    pub prove: bool,
}

/// Packages, checks, and tests with a program if requested.
pub fn run(options: Options) -> Result<ExitCode> {
    if !options.allow_dirty {
        committed()?;
    }
    if !options.keep_kernels {
        compile()?;
    }
    for arch in kernels::packaged() {
        let data = data_crates().join(arch).join("kernels.bin");
        ensure!(data.exists(), "{} is missing: run this without --keep-kernels", data.display());
    }
    let packages = registry::packages()?;
    let mut publish = cargo();
    // A dry run does everything except the upload: each package is unpacked and built with the
    // packages before it. The data of the data crates is not committed, which cargo would refuse
    // without --allow-dirty; `committed` has already checked everything else.
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty"]);
    shell::run(&mut publish).context("cargo refuses the packages")?;
    // A dry run leaves the packages here, to build each with those before it.
    let made = target_dir().join("package").join("tmp-registry");
    sizes(&made, &packages)?;
    let registry = registry::make(&made, &packages)?;
    println!("local registry: {}", registry.display());
    if options.prove {
        prove::run(&registry)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a working tree with changes that are not committed.
fn committed() -> Result<()> {
    let changes = shell::output(Command::new("git").args(["status", "--porcelain"]).current_dir(root()))?;
    ensure!(changes.is_empty(), "some changes are not committed; use --allow-dirty to package anyway:\n{changes}");
    Ok(())
}

/// Compiles the tree for every architecture of the packages and writes the data crates.
fn compile() -> Result<()> {
    setup::ensure_clang()?;
    let mut pack = cargo();
    pack.args(["run", "--release", "--package", "isobit-kernels-pack", "--features", "tool", "--"]).arg(data_crates());
    shell::run(kernels::for_all(&mut pack)).context("cannot pack the kernels")
}

/// Returns the folder of the data crates, which are one per architecture.
fn data_crates() -> PathBuf {
    root().join("kernels-common").join("code")
}

/// Prints the size of each package and fails if one is too large.
fn sizes(made: &Path, packages: &[registry::Package]) -> Result<()> {
    let mut total = 0;
    println!("{:<28} {:>12}", "package", "bytes");
    for package in packages.iter().filter(|package| package.ours) {
        let file = made.join(package.file());
        let size = std::fs::metadata(&file).with_context(|| format!("cargo did not create {}", file.display()))?.len();
        println!("{:<28} {size:>12}", package.name);
        let limit = if package.is_data() { DATA_LIMIT } else { LIMIT };
        if size > limit {
            bail!("{} has {size} bytes, but the limit is {limit}", file.display());
        }
        total += size;
    }
    println!("{:<28} {total:>12}", "total");
    Ok(())
}
