//! Saves failures: each to its own file, which one command replays, and all to the regression file,
//! whose cases run first in the next run.

use anyhow::{Context, Result};
use isobit_conformance::case::Case;
use isobit_conformance::regress::{self, COMMITTED};
use isobit_conformance::run::{CellRun, Failure};
use std::path::{Path, PathBuf};

fn regression_file(out: &Path) -> PathBuf {
    out.join("regressions.jsonl")
}

/// Returns the cases that run first: the committed ones and those that earlier runs saved.
///
/// # Errors
/// Fails if a file cannot be read.
pub fn regressions(out: &Path) -> Result<Vec<Case>> {
    let mut failures = regress::parse(COMMITTED).context("cannot parse the committed regressions")?;
    let path = regression_file(out);
    if path.exists() {
        failures.extend(load(&path)?);
    }
    Ok(regress::cases(failures))
}

/// Reads the failures of a file.
///
/// # Errors
/// Fails if the file cannot be read or contains something else.
pub fn load(path: &Path) -> Result<Vec<Failure>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    regress::parse(&text).with_context(|| format!("{} does not contain saved cases", path.display()))
}

/// Saves a cell's failure, and sets the repro command in its row and findings.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn failure(out: &Path, run: &mut CellRun) -> Result<()> {
    let Some(failure) = &run.failure else { return Ok(()) };
    let dir = out.join("failures");
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let row = &run.row;
    let numerics = row.numerics.map(|n| format!("-{n:?}").to_lowercase()).unwrap_or_default();
    let name = format!("{}-{}-{}{numerics}.json", row.subject, row.op, row.dtypes).replace([':', ','], "-");
    let path = dir.join(name);
    std::fs::write(&path, regress::line(failure)).with_context(|| format!("cannot write {}", path.display()))?;
    regress::append(&regression_file(out), failure).context("cannot add to the regression file")?;
    let command = format!("cargo xtask conformance --devices {} --replay {}", failure.device, quoted(&path));
    run.findings.iter_mut().for_each(|f| f.repro = Some(command.clone()));
    run.row.repro = Some(command);
    Ok(())
}

/// Returns the path quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
