//! `cargo xtask package`: everything that is published, with compiled kernels inside, checked as a
//! registry would, and proved by a program that uses it.

mod prove;
mod registry;

use crate::shell::{self, cargo, root, target_dir};
use crate::{kernels, setup};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What a data crate may have as a registry's file, and what any other may.
const DATA_LIMIT: u64 = 5_000_000;
const LIMIT: u64 = 10_000_000;

/// What to do beside packing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Packages although files are not committed.
    pub allow_dirty: bool,
    /// Takes the compiled kernels of the data crates as they are.
    pub keep_kernels: bool,
    /// Builds and runs a program that depends on the packages.
    pub prove: bool,
}

/// Packs, checks, and proves where asked.
pub fn run(options: Options) -> Result<ExitCode> {
    if !options.allow_dirty {
        committed()?;
    }
    if !options.keep_kernels {
        compile()?;
    }
    for arch in kernels::packaged() {
        let data = data_crates().join(arch).join("kernels.bin");
        ensure!(data.exists(), "{} is not there: run this without --keep-kernels", data.display());
    }
    let packages = registry::packages()?;
    let mut publish = cargo();
    // As a dry run it does all but upload: each package is unpacked and built, against those packed
    // before it. The data of the data crates is in no commit, which cargo would refuse: what else
    // is in none was looked at before.
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty"]);
    shell::run(&mut publish).context("cargo does not take the packages")?;
    // Where a dry run leaves them, for each to be built against those before it.
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
    ensure!(changes.is_empty(), "not everything is committed; --allow-dirty packages it all the same:\n{changes}");
    Ok(())
}

/// Compiles the tree for every architecture of the packages and writes the data crates.
fn compile() -> Result<()> {
    setup::ensure_clang()?;
    let mut pack = cargo();
    pack.args(["run", "--release", "--package", "isobit-kernels-pack", "--features", "tool", "--"]).arg(data_crates());
    shell::run(kernels::for_all(&mut pack)).context("the kernels cannot be packed")
}

/// The folder of the data crates, one for each architecture.
fn data_crates() -> PathBuf {
    root().join("kernels-common").join("code")
}

/// Prints how large each package is, and refuses what is too large.
fn sizes(made: &Path, packages: &[registry::Package]) -> Result<()> {
    let mut total = 0;
    println!("{:<28} {:>12}", "package", "bytes");
    for package in packages.iter().filter(|package| package.ours) {
        let file = made.join(package.file());
        let size = std::fs::metadata(&file).with_context(|| format!("cargo made no {}", file.display()))?.len();
        println!("{:<28} {size:>12}", package.name);
        let limit = if package.is_data() { DATA_LIMIT } else { LIMIT };
        if size > limit {
            bail!("{} has {size} bytes, and may have {limit}", file.display());
        }
        total += size;
    }
    println!("{:<28} {total:>12}", "all");
    Ok(())
}
