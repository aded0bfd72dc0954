//! Finds clang 19 or newer. The rest of the tree is compiled to the same kind of code objects.

use std::path::{Path, PathBuf};
use std::process::Command;

const OLDEST: u32 = 19;
/// The newest version whose numbered name is tried; newer ones are found as `clang`.
const NEWEST: u32 = 30;

/// Returns the clang that `ISOBIT_CLANG` names, otherwise the newest on the path.
///
/// # Errors
/// A message that says what was searched for, for the log of a program that cannot be compiled.
pub(crate) fn find() -> Result<PathBuf, String> {
    find_among(std::env::var_os("ISOBIT_CLANG").map(PathBuf::from))
}

fn find_among(named: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(path) = named {
        return match version_of(&path) {
            Some(version) if version >= OLDEST => Ok(path),
            _ => Err(format!("ISOBIT_CLANG={} is not clang {OLDEST} or newer", path.display())),
        };
    }
    (OLDEST..=NEWEST)
        .rev()
        .map(|v| format!("clang-{v}"))
        .chain(["clang".to_string()])
        .map(PathBuf::from)
        .find(|path| version_of(path).is_some_and(|v| v >= OLDEST))
        .ok_or_else(|| {
            format!(
                "no clang {OLDEST} or newer is on the path; install clang-{OLDEST} and lld-{OLDEST}, or set ISOBIT_CLANG"
            )
        })
}

fn version_of(clang: &Path) -> Option<u32> {
    let output = Command::new(clang).arg("--version").output().ok().filter(|o| o.status.success())?;
    String::from_utf8_lossy(&output.stdout).split("clang version ").nth(1)?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::find_among;

    #[test]
    fn what_is_named_is_taken_or_refused_by_name() {
        let none = find_among(Some("/nonexistent/clang".into())).unwrap_err();
        assert!(none.contains("ISOBIT_CLANG=/nonexistent/clang"), "{none}");
        // This program does not print a clang version.
        assert!(find_among(Some("/bin/true".into())).is_err());
    }
}
