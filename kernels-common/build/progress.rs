//! Tells how many compilations are done, for whoever waits: cargo keeps to itself what a build
//! script prints.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// Names the file; `cargo xtask` sets it. No reason to build again, so cargo is not told of it.
const VARIABLE: &str = "ISOBIT_KERNEL_PROGRESS";

/// A file that begins with the number of compilations, and grows by a byte with each.
pub struct Progress(Option<File>);

impl Progress {
    /// Writes the number. What cannot be written is not told.
    pub fn start(all: usize) -> Self {
        let create = |path| {
            std::fs::write(&path, format!("{all}\n")).ok()?;
            OpenOptions::new().append(true).open(path).ok()
        };
        Self(std::env::var_os(VARIABLE).and_then(create))
    }

    /// One more is done.
    pub fn step(&self) {
        if let Some(mut file) = self.0.as_ref() {
            let _ = file.write_all(b".");
        }
    }
}
