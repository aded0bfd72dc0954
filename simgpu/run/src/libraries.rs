//! Where the simulated libraries are.

use crate::cards::Vendor;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Names the folder that contains one folder of libraries per vendor.
const FOLDER_VARIABLE: &str = "ISOBIT_SIMGPU";

/// Returns the folder with a folder of libraries for each of the vendors: the one that the
/// environment names, or the one beside this program in cargo's target folder. Builds it if it is
/// not there.
///
/// # Errors
/// Fails if the named folder has no libraries, or they cannot be built.
pub fn folder<'a>(vendors: impl Iterator<Item = &'a Vendor> + Clone) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        if let Some(lacking) = vendors.clone().find(|vendor| !has(&folder, vendor)) {
            bail!(
                "{FOLDER_VARIABLE} is {}, which has no {}/lib/{}; `cargo run -p isobit-simgpu-install` builds the \
                 simulated GPUs and prints their folder",
                folder.display(),
                lacking.folder,
                lacking.library
            );
        }
        return Ok(folder);
    }
    let program = std::env::current_exe().context("the path of this program")?;
    let beside = program.ancestors().nth(2).map(|target| target.join("simgpu"));
    if let Some(folder) = beside.filter(|folder| vendors.clone().all(|vendor| has(folder, vendor))) {
        return Ok(folder);
    }
    eprintln!("isobit-sim: the simulated GPUs are built; this is done once");
    isobit_simgpu_install::all()
        .with_context(|| format!("the simulated GPUs are not installed; {FOLDER_VARIABLE} can name their folder"))
}

fn has(folder: &Path, vendor: &Vendor) -> bool {
    folder.join(vendor.folder).join("lib").join(vendor.library).exists()
}
