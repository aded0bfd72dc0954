//! The code in the data crates, one crate per architecture. Their build scripts report its
//! location.

use super::archive::Archive;
use std::path::PathBuf;

/// Returns the archive of an architecture, if its data crate is among the dependencies and has
/// code.
pub fn file(arch: &str) -> Option<PathBuf> {
    let package = arch.replace('_', "").to_uppercase();
    std::env::var_os(format!("DEP_ISOBIT_KERNELS_{package}_ARCHIVE")).map(PathBuf::from)
}

/// Returns the content of that archive.
pub fn read(arch: &str) -> Option<Vec<u8>> {
    let path = file(arch)?;
    println!("cargo::rerun-if-changed={}", path.display());
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
    match Archive::parse(&bytes) {
        Ok(archive) => assert_eq!(archive.arch, arch, "{} is of another architecture", path.display()),
        Err(e) => panic!("{}: {e}", path.display()),
    }
    Some(bytes)
}
