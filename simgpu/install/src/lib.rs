//! Builds the simulated GPUs and installs their libraries in the layout of a vendor's installation.
//!
//! Neither `cargo test` nor a test runner builds the `cdylib` of another package. So [`rocm`] and
//! [`cuda`] run cargo for the packages and put the libraries under `<target>/simgpu`, with the
//! sonames that programs open. A command prepared by [`apply`](Installed::apply) finds the
//! simulator where it would find the vendor's libraries.

mod cargo;
mod library;

use anyhow::{Context, Result};
use library::{CUDA, Library, ROCM};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that is set in the process that [`Installed::child`] starts.
const INSIDE: &str = "ISOBIT_SIMGPU_CHILD";

/// A vendor's libraries, and how programs find them.
struct Vendor {
    /// The name of its folder.
    name: &'static str,
    libraries: &'static [Library],
    /// The variable that names the vendor's installation, if programs use one.
    home: Option<&'static str>,
}

const CUDA_VENDOR: Vendor = Vendor { name: "cuda", libraries: CUDA, home: None };
const ROCM_VENDOR: Vendor = Vendor { name: "rocm", libraries: ROCM, home: Some("ROCM_PATH") };

/// The installed libraries of a simulated GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    root: PathBuf,
    home: Option<&'static str>,
}

/// Builds and installs the libraries of the simulated AMD GPU, which replace ROCm's.
///
/// # Errors
/// Fails if cargo cannot build them or a file cannot be written.
pub fn rocm() -> Result<Installed> {
    install([ROCM_VENDOR]).map(|[installed]| installed)
}

/// Builds and installs the libraries of the simulated NVIDIA GPU, which replace those of the driver
/// and the toolkit. Programs find them through the library path alone.
///
/// # Errors
/// The errors of [`rocm`].
pub fn cuda() -> Result<Installed> {
    install([CUDA_VENDOR]).map(|[installed]| installed)
}

/// Returns the folder that contains one folder per simulator; `ISOBIT_SIMGPU` names it.
///
/// # Errors
/// Fails if cargo's target folder cannot be determined.
pub fn folder() -> Result<PathBuf> {
    Ok(cargo::target_dir()?.join("simgpu"))
}

/// Builds and installs every simulator, each in its folder in [`folder`], and returns that folder.
/// A single build makes them all, so that no processor is idle at the end of one vendor's build.
///
/// # Errors
/// The errors of [`rocm`].
pub fn all() -> Result<PathBuf> {
    install([CUDA_VENDOR, ROCM_VENDOR])?;
    folder()
}

fn install<const N: usize>(vendors: [Vendor; N]) -> Result<[Installed; N]> {
    let folder = folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Several test processes may call this at once: one builds and installs, the others find it
    // done.
    let path = folder.join(".lock");
    let lock = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    fs4::fs_std::FileExt::lock_exclusive(&lock).with_context(|| format!("cannot lock {}", path.display()))?;
    let built = cargo::build(vendors.iter().flat_map(|vendor| vendor.libraries).map(|l| l.package))?;
    let installed = vendors.each_ref().map(|vendor| Installed { root: folder.join(vendor.name), home: vendor.home });
    for (vendor, installed) in vendors.iter().zip(&installed) {
        library::lay_out(vendor.libraries, &built, &installed.lib())?;
    }
    Ok(installed)
}

impl Installed {
    /// Returns the folder that replaces the vendor's installation; for ROCm it is the value of
    /// `ROCM_PATH`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of the libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// Returns the variables for a process that uses the simulator. They must be set before it
    /// starts, because the loader reads its variables only once.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let mut path = self.lib().into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            path.push(":");
            path.push(more);
        }
        let home = self.home.map(|home| (home, self.root.clone().into_os_string()));
        home.into_iter().chain([("LD_LIBRARY_PATH", path)])
    }

    /// Makes a command use the simulator.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.environment())
    }

    /// Returns a command that runs the calling test program again, with the simulator and only for
    /// one test. A test that needs the simulator runs this child and checks that it succeeds; in
    /// the child, where [`inside`] is true, it does its work. Findings are recorded there and are
    /// no errors, so that a test can provoke one and go on.
    ///
    /// # Errors
    /// Fails if the path of this program cannot be determined.
    pub fn child(&self, test: &str) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("the path of this program")?);
        command.args([test, "--exact", "--nocapture", "--include-ignored"]).env(INSIDE, "1");
        command.env("ISOBIT_SIM_FINDINGS", "record");
        self.apply(&mut command);
        Ok(command)
    }
}

/// Whether this is the process that [`Installed::child`] starts.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}
