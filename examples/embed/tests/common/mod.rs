//! Finds the model for tests.

use isobit_embed::folder;
use std::path::PathBuf;

/// Returns the model's folder, or `None` if it was not downloaded. `cargo xtask test -p
/// isobit-embed` and `--full` download it, so there a missing model is an error.
pub fn model() -> Option<PathBuf> {
    match folder::find(None) {
        Ok(folder) => Some(folder),
        Err(e) => {
            assert!(std::env::var_os(folder::VARIABLE).is_none(), "{e:#}");
            eprintln!("skipped: {e:#}");
            None
        }
    }
}
