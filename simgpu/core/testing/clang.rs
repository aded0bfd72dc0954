//! A compiler for the simulated GPUs, which tests and measurements of both vendors include.

use std::path::Path;
use std::process::Command;

/// Compiles a source with these options with clang: the one that `ISOBIT_CLANG` names, or the
/// first that is installed from 19 on.
///
/// # Errors
/// Fails, in words for a person, without a clang, if clang refuses the source, and if there is no
/// place for a temporary file.
pub fn compile(source: &Path, options: &[&str]) -> Result<Vec<u8>, String> {
    let out = tempfile::NamedTempFile::new().map_err(|e| format!("cannot make a temporary file: {e}"))?;
    let named = std::env::var("ISOBIT_CLANG").ok();
    let candidates = named.into_iter().chain((19..=30).rev().map(|v| format!("clang-{v}"))).chain(["clang".into()]);
    for clang in candidates {
        let mut command = Command::new(&clang);
        match command.args(options).arg("-ffp-contract=off").arg("-o").arg(out.path()).arg(source).output() {
            Err(_) => {}
            Ok(done) if done.status.success() => {
                return std::fs::read(out.path()).map_err(|e| format!("cannot read what {clang} wrote: {e}"));
            }
            Ok(done) => {
                let printed = String::from_utf8_lossy(&done.stderr);
                return Err(format!("{clang} cannot compile {}:\n{printed}", source.display()));
            }
        }
    }
    Err("no clang was found: install clang-19 and lld-19, or name one in ISOBIT_CLANG".into())
}
