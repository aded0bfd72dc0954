//! Reports the location of this crate's compiled kernels to the build of isobit-kernels. Every data
//! crate has a copy of this file.
//!
//! A checkout may have no data: `cargo xtask package` creates it. A package without data, or with
//! more data than a registry accepts, is an error.
#![allow(missing_docs)]

use std::path::Path;

/// The maximum size of the data. Registries accept 10 MB, and a program contains the data of all
/// architectures.
const LIMIT: u64 = 5_000_000;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = folder.join("kernels.bin");
    // Watches the folder, because a file that does not exist yet would count as changed every time.
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rustc-check-cfg=cfg(has_code)");
    match std::fs::metadata(&data) {
        Ok(data) if data.len() > LIMIT => {
            println!("cargo::error=kernels.bin has {} bytes, the limit of a data crate is {LIMIT}", data.len());
        }
        Ok(_) => {
            println!("cargo::metadata=archive={}", data.display());
            println!("cargo::rustc-cfg=has_code");
        }
        // Cargo stores the original manifest next to the published one.
        Err(e) if folder.join("Cargo.toml.orig").exists() => {
            println!(
                "cargo::error=this package has no kernels.bin ({e}): `cargo xtask package` compiles the kernels first"
            );
        }
        Err(_) => {}
    }
}
