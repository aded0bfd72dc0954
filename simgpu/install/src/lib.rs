//! Builds the simulated GPUs and lays their libraries out as a vendor's installation does.
//!
//! Neither `cargo test` nor a test runner builds a sibling's `cdylib`, so whoever needs a simulator
//! asks here: [`rocm`] and [`cuda`] run cargo for the packages, and put what they make under
//! `<target>/simgpu`, with the sonames that programs ask for. A process that
//! [`apply`](Installed::apply) was called on finds the simulator where it would find the vendor's
//! libraries.

mod cargo;
mod library;

use anyhow::{Context, Result};
use library::{CUDA, Library, ROCM};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells a test that it is the process which [`Installed::child`] starts.
const INSIDE: &str = "ISOBIT_SIMGPU_CHILD";

/// A vendor's libraries, and how programs find them.
struct Vendor {
    /// The name of its folder.
    name: &'static str,
    libraries: &'static [Library],
    /// The variable that names the vendor's installation, where programs ask one.
    home: Option<&'static str>,
}

const CUDA_VENDOR: Vendor = Vendor { name: "cuda", libraries: CUDA, home: None };
const ROCM_VENDOR: Vendor = Vendor { name: "rocm", libraries: ROCM, home: Some("ROCM_PATH") };

/// The libraries of a simulated GPU, built and laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    root: PathBuf,
    home: Option<&'static str>,
}

/// The simulated AMD GPU's libraries, in place of ROCm's.
///
/// # Errors
/// Cargo cannot build them, or the file system refuses.
pub fn rocm() -> Result<Installed> {
    install([ROCM_VENDOR]).map(|[installed]| installed)
}

/// The simulated NVIDIA GPU's libraries, in place of the driver's and the toolkit's: programs find
/// those by the library path alone.
///
/// # Errors
/// As [`rocm`].
pub fn cuda() -> Result<Installed> {
    install([CUDA_VENDOR]).map(|[installed]| installed)
}

/// The folder that holds every simulator, one folder each: what `ISOBIT_SIMGPU` names.
///
/// # Errors
/// The folder cargo builds in cannot be told.
pub fn folder() -> Result<PathBuf> {
    Ok(cargo::target_dir()?.join("simgpu"))
}

/// Every simulator, each in its folder of [`folder`], which is returned. One build makes them all,
/// so that the end of one vendor's does not leave a processor without work.
///
/// # Errors
/// As [`rocm`].
pub fn all() -> Result<PathBuf> {
    install([CUDA_VENDOR, ROCM_VENDOR])?;
    folder()
}

fn install<const N: usize>(vendors: [Vendor; N]) -> Result<[Installed; N]> {
    let folder = folder()?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Several test processes come here at once: one builds and lays out, the others find it done.
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
    /// What stands in for the vendor's installation: ROCm's is the value of `ROCM_PATH`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the libraries.
    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// The variables of a process that is to use the simulator, which must be set before it starts:
    /// the loader reads its own but once.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let mut path = self.lib().into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            path.push(":");
            path.push(more);
        }
        let home = self.home.map(|home| (home, self.root.clone().into_os_string()));
        home.into_iter().chain([("LD_LIBRARY_PATH", path)])
    }

    /// Has a program that is about to start use the simulator.
    pub fn apply<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.environment())
    }

    /// The calling test program again, for one of its tests alone and with the simulator: a test
    /// that needs it runs its child and checks that this succeeded, and does its work where
    /// [`inside`] is true.
    ///
    /// # Errors
    /// The path of this program cannot be told.
    pub fn child(&self, test: &str) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe().context("the path of this program")?);
        command.args([test, "--exact", "--nocapture", "--include-ignored"]).env(INSIDE, "1");
        self.apply(&mut command);
        Ok(command)
    }
}

/// True in the process that [`Installed::child`] starts.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}
