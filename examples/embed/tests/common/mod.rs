//! Where tests find the model.

use isobit_embed::folder;
use std::path::PathBuf;

/// The model's folder; none where it was not fetched. `cargo xtask test -p isobit-embed` and
/// `--full` fetch it, so that there it is an error.
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
