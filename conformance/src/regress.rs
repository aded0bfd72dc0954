//! Saved failures: JSON lines, one small case each. They run before the generated cases.

use crate::case::Case;
use crate::run::Failure;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// The regressions that are committed with the source: cases that once failed on some device.
pub const COMMITTED: &str = include_str!("../regressions.jsonl");

/// Formats a failure as one line.
pub fn line(failure: &Failure) -> String {
    serde_json::to_string(failure).expect("a failure is plain data") + "\n"
}

/// Parses the failures of a text.
///
/// # Errors
/// Fails if a line is not a failure.
pub fn parse(text: &str) -> serde_json::Result<Vec<Failure>> {
    text.lines().filter(|l| !l.trim().is_empty()).map(serde_json::from_str).collect()
}

/// Returns the cases of the failures, each once.
pub fn cases(failures: Vec<Failure>) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for failure in failures {
        if !cases.contains(&failure.case) {
            cases.push(failure.case);
        }
    }
    cases
}

/// Adds a failure to a file, unless its case is already there.
///
/// # Errors
/// Returns the error of the file system.
pub fn append(path: &Path, failure: &Failure) -> io::Result<()> {
    let known = match std::fs::read_to_string(path) {
        Ok(text) => parse(&text)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    if known.iter().any(|k| k.case == failure.case) {
        return Ok(());
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line(failure).as_bytes())
}
