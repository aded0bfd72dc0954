//! Reports the progress of compilation through a file, because cargo hides the output of a build
//! script.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// Names the file; set by `cargo xtask`. It does not affect the build, so cargo does not track it.
const VARIABLE: &str = "ISOBIT_KERNEL_PROGRESS";

/// A file that starts with the number of compilations and grows by one byte with each.
pub struct Progress(Option<File>);

impl Progress {
    /// Writes the number. If the file cannot be written, nothing is reported.
    pub fn start(all: usize) -> Self {
        let create = |path| {
            std::fs::write(&path, format!("{all}\n")).ok()?;
            OpenOptions::new().append(true).open(path).ok()
        };
        Self(std::env::var_os(VARIABLE).and_then(create))
    }

    /// Reports one more compilation.
    pub fn step(&self) {
        if let Some(mut file) = self.0.as_ref() {
            let _ = file.write_all(b".");
        }
    }
}
