//! Simulated devices: which there are, and what a process needs to have one.
//!
//! A simulator is a shared library in place of a vendor's, so a device of it is opened as the vendor's own, in a process that found the
//! simulator's folder first.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;

/// Names the folder that holds a folder of libraries for each vendor; `cargo xtask` sets it.
const FOLDER_VARIABLE: &str = "ISOBIT_SIMGPU";

/// Every architecture of the simulated AMD GPU.
const ROCM: &[&str] = &["gfx90a", "gfx942", "gfx1100"];

/// Those that run where there is no AMD GPU and nobody asked for others: one of wave64, one of wave32.
const ROCM_BY_DEFAULT: &[&str] = &["gfx90a", "gfx1100"];

const ROCM_DRIVER: &str = "sim-rocm";

/// A simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulated {
    arch: &'static str,
}

impl Simulated {
    /// The device of an id of the form that [`id`](Self::id) gives.
    pub fn of(id: &str) -> Option<Self> {
        let arch = id.strip_prefix(ROCM_DRIVER)?.strip_prefix(':')?;
        ROCM.iter().find(|&&a| a == arch).map(|&arch| Self { arch })
    }

    /// The device that a user names, of the simulated driver `driver`: by its architecture, or without one by the first.
    ///
    /// # Errors
    /// A driver that has no simulator, an architecture that it does not simulate.
    pub fn named(driver: &str, arch: Option<&str>) -> Result<Self> {
        if driver != ROCM_DRIVER {
            bail!("{driver}: there is no simulated NVIDIA GPU yet; {ROCM_DRIVER}:{} is a simulated AMD GPU", ROCM[0]);
        }
        let arch = arch.unwrap_or(ROCM[0]);
        super::select::known("simulated AMD GPU", arch, ROCM)?;
        Ok(Self::of(&format!("{ROCM_DRIVER}:{arch}")).expect("it is a known one"))
    }

    /// Those that stand in for AMD GPUs on a machine without.
    pub fn instead_of_rocm() -> impl Iterator<Item = Self> {
        ROCM_BY_DEFAULT.iter().map(|&arch| Self { arch })
    }

    /// The name in reports.
    pub fn id(self) -> String {
        format!("{ROCM_DRIVER}:{}", self.arch)
    }

    /// The name by which the process that has it opens it.
    pub fn opened_as(self) -> &'static str {
        "rocm:0"
    }

    /// That it can be started: this build has the driver and code for it, and the simulator is built.
    ///
    /// # Errors
    /// It cannot; what to do about that.
    pub fn ready(self) -> Result<()> {
        let (id, packed) = (self.id(), packed()?);
        if !packed.iter().any(|a| a == self.arch) {
            let there = if packed.is_empty() { "none".into() } else { packed.join(", ") };
            bail!(
                "{id}: no kernels for {} are in this build, whose AMD architectures are: {there}. ISOBIT_ROCM_ARCHS, set while building, \
                 chooses them",
                self.arch
            );
        }
        folder().map(drop).with_context(|| format!("device {id}"))
    }

    /// The variables of a process that has it, with so many threads to simulate on. Each storage is an allocation of its own there, so that
    /// an access outside it is seen.
    ///
    /// # Errors
    /// The simulator is not built.
    pub fn environment(self, threads: usize) -> Result<Vec<(&'static str, OsString)>> {
        let root = folder()?;
        let mut path = root.join("lib").into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            path.push(":");
            path.push(more);
        }
        Ok(vec![
            ("ROCM_PATH", root.into()),
            ("LD_LIBRARY_PATH", path),
            ("ISOBIT_SIM_ROCM", self.arch.into()),
            ("ISOBIT_SIM_THREADS", threads.to_string().into()),
            ("ISOBIT_POOL", "exact".into()),
        ])
    }
}

/// The AMD architectures that this build has kernels for.
#[cfg(feature = "rocm")]
fn packed() -> Result<Vec<String>> {
    Ok(isobit::rocm::BUILD.amd_archs().into_iter().map(|a| a.into_owned()).collect())
}

#[cfg(not(feature = "rocm"))]
fn packed() -> Result<Vec<String>> {
    bail!("this build has no ROCm driver: build with the feature `rocm`, as `cargo xtask conformance` does")
}

/// The folder that stands in for ROCm's installation.
fn folder() -> Result<PathBuf> {
    let simulators = match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        // Where cargo puts programs, the simulators lie beside them.
        None => {
            let program = std::env::current_exe().context("the path of this program")?;
            program.ancestors().nth(2).context("this program lies in no folder")?.join("simgpu")
        }
    };
    let root = simulators.join("rocm");
    if !root.join("lib/libamdhip64.so").exists() {
        bail!(
            "the simulated AMD GPU is not in {}: `cargo xtask conformance` builds it, and so does `cargo run -p isobit-simgpu-stage`, which \
             prints the folder that {FOLDER_VARIABLE} is to name",
            root.display()
        );
    }
    Ok(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_architecture() {
        for arch in ROCM {
            let device = Simulated::named("sim-rocm", Some(arch)).unwrap();
            assert_eq!(device.id(), format!("sim-rocm:{arch}"));
            assert_eq!(Simulated::of(&device.id()), Some(device));
        }
        assert_eq!(Simulated::named("sim-rocm", None).unwrap().id(), "sim-rocm:gfx90a");
        assert!(Simulated::instead_of_rocm().all(|d| ROCM.contains(&d.arch)));
        for id in ["rocm:0", "sim-rocm", "sim-rocm:gfx90", "sim-cuda:gfx90a", "cpu"] {
            assert_eq!(Simulated::of(id), None, "{id}");
        }
    }

    #[test]
    fn a_near_name_is_suggested() {
        let e = Simulated::named("sim-rocm", Some("gfx90b")).unwrap_err();
        assert!(e.to_string().contains("did you mean gfx90a"), "{e}");
        assert!(Simulated::named("sim-cuda", None).is_err());
    }
}
