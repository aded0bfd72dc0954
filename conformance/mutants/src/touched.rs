//! The kernel files and driver files that no mutant touches. `lists/untouched.txt` names those that
//! are tolerated; the list only becomes shorter. Files of tests need no mutants.

use crate::list::{FOLDER, Mutant};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// The file of tolerated gaps, below [`FOLDER`].
pub const FILE: &str = "untouched.txt";

/// Folders whose kernel sources and Rust files need mutants.
const FOLDERS: [(&str, &[&str]); 3] =
    [("kernels-common/src", &["cu", "cuh"]), ("driver-cuda/src", &["rs"]), ("driver-rocm/src", &["rs"])];

/// Returns the files that no mutant touches. Equivalent mutants do not count.
///
/// # Errors
/// Fails if a folder cannot be read.
pub fn untouched(root: &Path, mutants: &[Mutant]) -> Result<BTreeSet<String>> {
    let touched: BTreeSet<&str> = mutants.iter().filter(|m| m.equivalent.is_none()).map(|m| m.file.as_str()).collect();
    let mut found = BTreeSet::new();
    for (folder, endings) in FOLDERS {
        files(root, folder, endings, &mut found)?;
    }
    found.retain(|file| !touched.contains(file.as_str()));
    Ok(found)
}

fn files(root: &Path, folder: &str, endings: &[&str], found: &mut BTreeSet<String>) -> Result<()> {
    let path = root.join(folder);
    for entry in std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
        let entry = entry?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files(root, &name, endings, found)?;
        } else if entry.file_name() != "tests.rs"
            && endings.iter().any(|ending| entry.path().extension().is_some_and(|e| e == *ending))
        {
            found.insert(name);
        }
    }
    Ok(())
}

/// Reads the tolerated gaps.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn tolerated(root: &Path) -> Result<BTreeSet<String>> {
    let path = root.join(FOLDER).join(FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_string).collect())
}
