//! `cargo xtask candle`: puts Isobit's backend into candle. It fetches candle's crates from the
//! registry, lays them out beside each other with the files of `integrations/candle` in place, and
//! prints the lines of a `Cargo.toml` that make a program use them.

mod edits;
pub mod sources;
pub mod suites;

use crate::shell::{root, target_dir};
use crate::steps::Steps;
use anyhow::{Context, Result, bail, ensure};
use edits::Edit;
use sources::Package;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The options of the task.
#[derive(Debug, Default)]
pub struct Options {
    /// The folder for the changed crates, if it is not in the target folder.
    pub out: Option<PathBuf>,
    /// Whether to run candle's tests.
    pub test: bool,
    /// The devices to run them on.
    pub devices: Vec<String>,
    /// Only the tests whose name contains this.
    pub filter: Option<String>,
    /// Whether to try the newest release instead.
    pub newest: bool,
}

/// A crate of candle that gets files of Isobit.
#[derive(Debug, Clone, Copy)]
pub struct Crate {
    /// Its name in the registry.
    pub name: &'static str,
    /// The SHA-256 of its package.
    pub sha256: &'static str,
    edits: &'static [Edit],
}

/// The release of candle that the edits are written for.
pub const RELEASE: &str = "0.11.1";

const CRATES: [Crate; 2] = [
    Crate {
        name: "candle-core",
        sha256: "d11c8be87cfbaef9ebb62fb3f850d1fc8e00cc1d11d393fdbe55a4d5c2cdb325",
        edits: edits::CORE,
    },
    Crate {
        name: "candle-nn",
        sha256: "437fabe77547c2447c7bdf3cc946e19db29a2832440176b419f77c80b0a9a05e",
        edits: edits::NN,
    },
];

/// Lays out the crates, and tests them if that is asked for.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.newest {
        return newest();
    }
    let mut steps = Steps::default();
    let default = target_dir().join("candle");
    let out = options.out.as_ref().unwrap_or(&default);
    steps.run("candle's sources", || lay_out(&sources::fetch(RELEASE)?, out))?;
    if options.test {
        lay_out_tests(out)?;
        return suites::run(&mut steps, out, &options.devices, options.filter.as_deref());
    }
    println!("{}", patch(out)?);
    Ok(ExitCode::SUCCESS)
}

/// Checks that every edit fits, without building anything. Returns the reason if candle cannot be
/// fetched, so that this is not known.
///
/// # Errors
/// If an edit does not fit.
pub fn check() -> Result<Option<anyhow::Error>> {
    match sources::fetch(RELEASE) {
        Ok(packages) => lay_out(&packages, &target_dir().join("candle")).map(|()| None),
        Err(e) => Ok(Some(e)),
    }
}

/// Returns the lines for the `Cargo.toml` of a program.
fn patch(out: &Path) -> Result<String> {
    let out = std::path::absolute(out).with_context(|| format!("the path of {}", out.display()))?;
    let lines = CRATES.map(|of| format!("{} = {{ path = {:?} }}", of.name, out.join(of.name)));
    Ok(format!(
        "\nAdd this to the Cargo.toml of your program, whose candle crates have version {RELEASE} and the feature `cuda`:\n\n\
         [patch.crates-io]\n{}",
        lines.join("\n")
    ))
}

/// Writes the changed crates into a folder, each with candle's licence.
fn lay_out(packages: &[Package], out: &Path) -> Result<()> {
    let mut licence = None;
    for (of, package) in CRATES.iter().zip(packages) {
        ensure!(
            package.sha256 == of.sha256,
            "{} {RELEASE} of the registry is not the release that the edits are written for: its SHA-256 is {}, not {}",
            of.name,
            package.sha256,
            of.sha256
        );
        let folder = sources::unpack(package)?;
        edits::apply(of, &folder, root())?;
        // The package of candle-core has the text, and that of candle-nn has not.
        let file = folder.join("LICENSE");
        match (&licence, file.exists()) {
            (_, true) => licence = Some(file),
            (Some(licence), false) => drop(std::fs::copy(licence, file)?),
            (None, false) => bail!("{} has no licence", of.name),
        }
        sources::mirror(&folder, &out.join(of.name))?;
    }
    Ok(())
}

/// Adds the packages that test the changed crates, and makes all of them one workspace.
fn lay_out_tests(out: &Path) -> Result<()> {
    let mine = root().join("integrations/candle");
    for package in ["proofs", "speed"] {
        sources::mirror(&mine.join(package), &out.join(package))?;
    }
    for (from, to) in [("workspace.toml", "Cargo.toml"), ("workspace.lock", "Cargo.lock")] {
        sources::write_changed(&out.join(to), &std::fs::read(mine.join(from)).with_context(|| from.to_string())?)?;
    }
    Ok(())
}

/// Tries the edits on the newest release and prints those that do not fit.
fn newest() -> Result<ExitCode> {
    let mut misfits = 0;
    for (of, package) in CRATES.iter().zip(sources::fetch("*")?) {
        let wrong = edits::misfits(of, &sources::unpack(&package)?);
        println!("{} {}: {} of {} edits fit", of.name, package.version, of.edits.len() - wrong.len(), of.edits.len());
        wrong.iter().for_each(|e| println!("  {e:#}"));
        misfits += wrong.len();
    }
    Ok(if misfits == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
