//! Tells the build of isobit-kernels where the compiled kernels of this crate's architecture lie.
//! Every data crate has this file.
//!
//! A checkout may have no data: `cargo xtask package` makes it. A package that has none, or more
//! than a registry takes, is refused.
#![allow(missing_docs)]

use std::path::Path;

/// What a package may have: registries take 10 MB, and a program carries all of them.
const LIMIT: u64 = 5_000_000;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = folder.join("kernels.bin");
    // The folder, as a file that is not there yet would count as changed each time.
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rustc-check-cfg=cfg(has_code)");
    match std::fs::metadata(&data) {
        Ok(data) if data.len() > LIMIT => {
            println!("cargo::error=kernels.bin has {} bytes, a data crate at most {LIMIT}", data.len());
        }
        Ok(_) => {
            println!("cargo::metadata=archive={}", data.display());
            println!("cargo::rustc-cfg=has_code");
        }
        // Cargo puts the manifest as it was written beside the one that it publishes.
        Err(e) if folder.join("Cargo.toml.orig").exists() => {
            println!(
                "cargo::error=this package has no kernels.bin ({e}): `cargo xtask package` compiles the kernels first"
            );
        }
        Err(_) => {}
    }
}
