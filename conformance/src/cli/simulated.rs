//! Simulated devices: which exist, and what environment a process needs to use one.
//!
//! A simulator is a shared library that replaces a vendor's library. Its device opens like the
//! vendor's own, in a process that finds the simulator's folder first.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Selects how memory is pooled; see [`Simulated::environment`].
const POOL_VARIABLE: &str = "ISOBIT_POOL";

/// Names the folder that contains one folder of libraries per vendor; `cargo xtask` sets it.
const FOLDER_VARIABLE: &str = "ISOBIT_SIMGPU";

/// The number of cards of a simulated machine, for copies and collectives between them.
const CARDS: usize = 8;

/// A vendor's simulator.
#[derive(Debug, PartialEq, Eq)]
struct Vendor {
    /// The driver name of its devices in reports, before the architecture.
    driver: &'static str,
    /// The vendor's name.
    name: &'static str,
    /// All architectures; the first one is the default.
    archs: &'static [&'static str],
    /// The architectures that run by default if the machine has no real GPU of the vendor.
    by_default: &'static [&'static str],
    /// Whether the driver's name alone means the first architecture.
    first_unnamed: bool,
    /// The driver whose library it replaces.
    stands_for: &'static str,
    /// Its library in the vendor's folder.
    library: &'static str,
    /// The environment variable that selects the architecture.
    card: &'static str,
    /// The environment variable with which the driver finds the vendor's installation, if it uses
    /// one.
    root: Option<&'static str>,
    /// The environment variable that names the vendor's real run-time compiler, if the simulator
    /// does not replace that compiler.
    compiler: Option<&'static str>,
    /// The environment variable that selects the architectures of the build.
    built_for: &'static str,
}

/// The device's driver compiles PTX for any later architecture, so one architecture is
/// representative.
static CUDA: Vendor = Vendor {
    driver: "sim-cuda",
    name: "NVIDIA",
    archs: &["sm_80", "sm_75", "sm_90"],
    by_default: &["sm_80"],
    first_unnamed: true,
    stands_for: "cuda",
    library: "libcuda.so",
    card: "ISOBIT_SIM_CUDA",
    root: None,
    compiler: Some("ISOBIT_NVRTC"),
    built_for: "ISOBIT_CUDA_ARCHS",
};

/// By default one device with wave64 and one with wave32.
static ROCM: Vendor = Vendor {
    driver: "sim-rocm",
    name: "AMD",
    archs: &["gfx90a", "gfx942", "gfx1100"],
    by_default: &["gfx90a", "gfx1100"],
    first_unnamed: false,
    stands_for: "rocm",
    library: "libamdhip64.so",
    card: "ISOBIT_SIM_ROCM",
    root: Some("ROCM_PATH"),
    compiler: None,
    built_for: "ISOBIT_ROCM_ARCHS",
};

static VENDORS: [&Vendor; 2] = [&CUDA, &ROCM];

/// A simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulated {
    vendor: &'static Vendor,
    arch: &'static str,
}

impl Simulated {
    /// Returns all simulated devices.
    fn all() -> impl Iterator<Item = Self> {
        VENDORS.into_iter().flat_map(|vendor| vendor.archs.iter().map(move |&arch| Self { vendor, arch }))
    }

    /// Returns the device with the given id, in the form that [`id`](Self::id) returns.
    pub fn of(id: &str) -> Option<Self> {
        Self::all().find(|device| device.id() == id)
    }

    /// Returns the device of the simulated driver `driver` with the given architecture, or with the
    /// driver's first architecture.
    ///
    /// # Errors
    /// Fails if the driver has no simulator, or the simulator does not have the architecture.
    pub fn named(driver: &str, arch: Option<&str>) -> Result<Self> {
        let Some(vendor) = VENDORS.into_iter().find(|vendor| vendor.driver == driver) else {
            bail!("{driver}: no such simulated GPU; known names: {} and {}", CUDA.driver, ROCM.driver);
        };
        let arch = arch.unwrap_or(vendor.archs[0]);
        super::select::known(&format!("simulated {} GPU", vendor.name), arch, vendor.archs)?;
        Ok(Self::all().find(|device| device.vendor == vendor && device.arch == arch).expect("it is a known one"))
    }

    /// Returns the devices that replace a driver's GPUs on a machine without any.
    pub fn instead_of(driver: &str) -> impl Iterator<Item = Self> {
        let vendors = VENDORS.into_iter().filter(move |vendor| vendor.stands_for == driver);
        vendors.flat_map(|vendor| vendor.by_default.iter().map(move |&arch| Self { vendor, arch }))
    }

    /// Returns the name that reports use.
    pub fn id(self) -> String {
        let Vendor { driver, archs, first_unnamed, .. } = self.vendor;
        if *first_unnamed && self.arch == archs[0] { (*driver).into() } else { format!("{driver}:{}", self.arch) }
    }

    /// Returns the name with which its process opens it.
    pub fn opened_as(self) -> String {
        format!("{}:0", self.vendor.stands_for)
    }

    /// Checks that the device can be started: this build has the driver and code for it, and the
    /// simulator is built.
    ///
    /// # Errors
    /// Fails if it cannot be started; the message says what to do.
    pub fn ready(self) -> Result<()> {
        let (id, packed) = (self.id(), packed(self.vendor)?);
        if packed.is_empty() {
            bail!(
                "{id}: this build contains no compiled kernels for {} GPUs. The build needs clang 19 or newer and lld to compile them; \
                 `cargo xtask doctor` shows what is missing",
                self.vendor.name
            );
        }
        if !packed.iter().any(|packed| runs_on(packed, self.arch)) {
            let Vendor { name, built_for, .. } = self.vendor;
            let others = format!(
                "this build has {name} kernels for {} but not for {}; set {built_for} when building to select the architectures",
                packed.join(", "),
                self.arch
            );
            if !self.vendor.compiles() {
                bail!("{id}: {others}");
            }
            eprintln!("note: {id} compiles each kernel when it first runs: {others}");
        }
        self.vendor.folder().map(drop).with_context(|| format!("device {id}"))
    }

    /// Returns the environment variables of a process that uses the device with `threads`
    /// simulation threads. With `exact`, each storage is its own allocation, so that the simulator
    /// detects an access outside it; otherwise memory is pooled as for users, unless the
    /// environment says otherwise.
    ///
    /// # Errors
    /// Fails if the simulator is not built.
    pub fn environment(self, threads: usize, exact: bool) -> Result<Vec<(&'static str, OsString)>> {
        let root = self.vendor.folder()?;
        let mut path = root.join("lib").into_os_string();
        let more = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty());
        for folder in more.into_iter().chain(self.vendor.compiler_folder()) {
            path.push(":");
            path.push(folder);
        }
        let pool = if exact { "exact".into() } else { std::env::var_os(POOL_VARIABLE).unwrap_or_default() };
        let mut variables = vec![
            ("LD_LIBRARY_PATH", path),
            (self.vendor.card, [self.arch; CARDS].join(",").into()),
            ("ISOBIT_SIM_THREADS", threads.to_string().into()),
            // After an invalid access, the other cases must still run.
            ("ISOBIT_SIM_FINDINGS", "record".into()),
            (POOL_VARIABLE, pool),
        ];
        variables.extend(self.vendor.root.map(|variable| (variable, root.into())));
        Ok(variables)
    }

    /// Runs this program again with `--inside`, in an environment in which it finds the device,
    /// with `threads` simulation threads. Returns whether it passed.
    ///
    /// # Errors
    /// Fails if the simulator is not built or the program cannot be started.
    pub fn again(self, threads: usize) -> Result<bool> {
        let program = std::env::current_exe().context("cannot get the path of this program")?;
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).arg("--inside").envs(self.environment(threads, false)?);
        Ok(command.status().context("cannot start this program again")?.success())
    }
}

impl Vendor {
    /// Whether its devices can compile kernels: the NVIDIA ones use NVIDIA's own compiler if the
    /// environment names it, the AMD ones use a stand-in for AMD's compiler that runs the clang of
    /// the build.
    fn compiles(&self) -> bool {
        self.compiler.is_none_or(|variable| std::env::var_os(variable).is_some())
    }

    /// Returns the folder of the vendor's run-time compiler, if the environment names one.
    fn compiler_folder(&self) -> Option<OsString> {
        let library = PathBuf::from(std::env::var_os(self.compiler?)?);
        Some(library.parent()?.as_os_str().to_owned())
    }

    /// Returns the folder that replaces the vendor's installation.
    fn folder(&self) -> Result<PathBuf> {
        let simulators = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) => PathBuf::from(folder),
            // In cargo's target folder, the simulators lie beside the programs.
            None => {
                let program = std::env::current_exe().context("cannot get the path of this program")?;
                program.ancestors().nth(2).context("the path of this program has too few folders")?.join("simgpu")
            }
        };
        let root = simulators.join(self.stands_for);
        if !root.join("lib").join(self.library).exists() {
            bail!(
                "the simulated {} GPU is not in {}: build it with `cargo xtask conformance` or with `cargo run -p isobit-simgpu-install`, \
                 which prints the folder to set in {FOLDER_VARIABLE}",
                self.name,
                root.display()
            );
        }
        Ok(root)
    }
}

/// Whether code for one architecture runs on another: PTX also runs on later architectures, an AMD
/// code object only on its own.
fn runs_on(code: &str, card: &str) -> bool {
    let sm = |arch: &str| arch.strip_prefix("sm_").and_then(|n| n.parse::<u32>().ok());
    match (sm(code), sm(card)) {
        (Some(code), Some(card)) => code <= card,
        _ => code == card,
    }
}

/// Returns the vendor's architectures for which this build has kernels.
fn packed(vendor: &Vendor) -> Result<Vec<String>> {
    match vendor.stands_for {
        #[cfg(feature = "cuda")]
        "cuda" => Ok(isobit::cuda::BUILD.nvidia_archs().into_iter().map(|a| a.into_owned()).collect()),
        #[cfg(feature = "rocm")]
        "rocm" => Ok(isobit::rocm::BUILD.amd_archs().into_iter().map(|a| a.into_owned()).collect()),
        driver => bail!(
            "this build has no driver for {} GPUs: build with the feature `{driver}`, as `cargo xtask conformance` does",
            vendor.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_architecture() {
        for arch in ROCM.archs {
            let device = Simulated::named("sim-rocm", Some(arch)).unwrap();
            assert_eq!(device.id(), format!("sim-rocm:{arch}"));
            assert_eq!(Simulated::of(&device.id()), Some(device));
        }
        let id = |driver, arch| Simulated::named(driver, arch).unwrap().id();
        assert_eq!(id("sim-rocm", None), "sim-rocm:gfx90a");
        assert_eq!(id("sim-cuda", None), "sim-cuda");
        assert_eq!(id("sim-cuda", Some("sm_80")), "sim-cuda");
        assert_eq!(id("sim-cuda", Some("sm_90")), "sim-cuda:sm_90");
        for id in ["rocm:0", "sim-rocm", "sim-rocm:gfx90", "sim-cuda:gfx90a", "sim-cuda:sm_80", "cpu"] {
            assert_eq!(Simulated::of(id), None, "{id}");
        }
    }

    #[test]
    fn each_vendor_has_devices_where_it_has_no_gpu() {
        let ids = |driver| Simulated::instead_of(driver).map(Simulated::id).collect::<Vec<_>>();
        assert_eq!(ids("rocm"), ["sim-rocm:gfx90a", "sim-rocm:gfx1100"]);
        assert_eq!(ids("cuda"), ["sim-cuda"]);
        assert!(ids("cpu").is_empty());
    }

    #[test]
    fn a_near_name_is_suggested() {
        let e = Simulated::named("sim-rocm", Some("gfx90b")).unwrap_err();
        assert!(e.to_string().contains("did you mean gfx90a"), "{e}");
        let e = Simulated::named("sim-cuda", Some("sm_81")).unwrap_err();
        assert!(e.to_string().contains("did you mean sm_80"), "{e}");
    }

    #[test]
    fn ptx_runs_on_later_cards_and_a_code_object_on_its_own() {
        assert!(runs_on("sm_80", "sm_80") && runs_on("sm_80", "sm_90") && !runs_on("sm_80", "sm_75"));
        assert!(runs_on("gfx90a", "gfx90a") && !runs_on("gfx90a", "gfx942"));
    }
}
