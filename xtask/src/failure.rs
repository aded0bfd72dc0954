//! Explains failures of other programs and suggests what to do.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest Rust that builds the workspace.
pub const RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// With less free space than this, a failure is attributed to a full disk. It need not be 0 bytes,
/// because partly written files are often removed again.
const NEARLY_NONE: u64 = 64 << 20;

/// With more free space than this, text about a full disk does not mean this disk: it may come from
/// the output of a test.
const ENOUGH: u64 = 2 << 30;

/// Returns advice about a failure, from the program's output and the free bytes on its disk, if the
/// cause is known.
pub fn advice(said: &str, free: u64) -> Option<String> {
    let says = |any: &[&str]| any.iter().any(|words| said.contains(words));
    if free < ENOUGH && says(&["No space left on device", "(os error 28)", "errno=28"]) {
        return Some("the disk is full. Free some space, or set CARGO_TARGET_DIR to a folder on another disk".into());
    }
    if says(&["is not supported by the following package", "requires rustc "]) {
        return Some(format!("this Rust is too old: Isobit needs {RUST} or newer. `rustup update stable` installs it"));
    }
    // What a failed test printed does not tell why the command failed.
    if says(&["error: test failed", "error: doctest failed", "targets failed:", "target failed:"]) {
        return None;
    }
    let unreachable = [
        "Could not resolve host",
        "Couldn't resolve host",
        "Could not resolve hostname",
        "Temporary failure in name resolution",
        "Temporary failure resolving",
        "failed to download from",
        "failed to query replaced source",
        "spurious network error",
        "Unable to connect to",
        "Failed to establish a new connection",
        "Could not connect to",
        "Network is unreachable",
        "attempting to make an HTTP request, but --offline was specified",
    ];
    says(&unreachable).then(|| {
        "a package registry cannot be reached. Check the network and its proxy (HTTPS_PROXY); mirrors are configured in \
         ~/.cargo/config.toml for crates.io, in pip's configuration for PyPI, in /etc/apt/sources.list.d for Debian"
            .into()
    })
}

/// Returns the end of an error message: the advice for the output, or else that the disk is full if
/// it is.
pub fn explain(said: &str) -> String {
    let temporary = std::env::temp_dir();
    let folders = [crate::shell::target_dir(), temporary].into_iter().filter_map(|f| Some((free(&f)?, f)));
    let (least, folder) = folders.min().unwrap_or((u64::MAX, PathBuf::new()));
    let full = (least < NEARLY_NONE).then(|| {
        format!("{} is full. Free some space, or set CARGO_TARGET_DIR to a folder on another disk", folder.display())
    });
    advice(said, least).or(full).map_or_else(String::new, |advice| format!("\n  {advice}"))
}

/// Returns the free bytes on the disk of a folder, which need not exist yet.
pub fn free(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|f| f.exists())?;
    let output = Command::new("df").args(["-P", "-k"]).arg(there).output().ok()?;
    free_in(&String::from_utf8_lossy(&output.stdout))
}

/// Returns the free bytes from a table of `df -P -k` with one file system.
fn free_in(table: &str) -> Option<u64> {
    let kilobytes: u64 = table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say_is_understood() {
        for (said, expected) in [
            ("error: failed to write `/t/x.rmeta`: No space left on device (os error 28)", "disk is full"),
            ("error: couldn't create a temp dir: No space left on device (os error 28) at path", "disk is full"),
            ("fatal error: error in backend: IO failure on output stream: No space left on device", "disk is full"),
            (
                "error: rustc 1.85.0 is not supported by the following packages:\n  xtask@0.1.0 requires rustc 1.88",
                "too old",
            ),
            ("[6] Couldn't resolve host name (Could not resolve host: index.crates.io)", "registry cannot be reached"),
            ("W: Failed to fetch x  Temporary failure resolving 'deb.example'", "registry cannot be reached"),
            ("NewConnectionError: Failed to establish a new connection: [Errno -3]", "registry cannot be reached"),
        ] {
            assert!(advice(said, 0).is_some_and(|a| a.contains(expected)), "{said}: {:?}", advice(said, 0));
        }
        assert_eq!(advice("error[E0308]: mismatched types", 0), None);
        let test = "Could not resolve host, says a test\nerror: test failed, to rerun pass `-p xtask`";
        assert_eq!(advice(test, 0), None);
        assert_eq!(advice("ld: final link failed: No space left on device", 50 << 30), None);
        assert!(advice("requires rustc 1.88", u64::MAX).unwrap().contains(RUST));
    }

    /// A cargo older than Rust 1.85 reads values first and reports an unknown value as an error.
    /// Without such values it reports that the edition is too new. This applies to the manifests
    /// that it reads: those of the workspace.
    #[test]
    fn an_old_cargo_finds_nothing_to_complain_of_but_its_age() {
        let manifest = std::fs::read_to_string(crate::shell::root().join("Cargo.toml")).unwrap();
        let named_level = manifest.lines().find(|line| line.trim_start().starts_with("debug = \""));
        assert_eq!(named_level, None, "it belongs in .cargo/config.toml");
        assert!(manifest.contains("edition = \"2024\""));
    }

    #[test]
    fn free_space_is_read_from_df() {
        let table =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 263174212 14000000 2048 15% /\n";
        assert_eq!(free_in(table), Some(2 << 20));
        assert_eq!(free_in("df: /nowhere: No such file or directory\n"), None);
        assert!(free(Path::new("/nowhere/at/all")).is_some());
    }
}
