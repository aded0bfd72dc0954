//! Simulated devices: which there are, and what a process needs to have one.
//!
//! A simulator is a shared library in place of a vendor's, so a device of it is opened as the
//! vendor's own, in a process that found the simulator's folder first.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;

/// How memory is pooled; see [`Simulated::environment`].
const POOL_VARIABLE: &str = "ISOBIT_POOL";

/// Names the folder that holds a folder of libraries for each vendor; `cargo xtask` sets it.
const FOLDER_VARIABLE: &str = "ISOBIT_SIMGPU";

/// A vendor's simulator.
#[derive(Debug, PartialEq, Eq)]
struct Vendor {
    /// How reports call its devices, before the architecture.
    driver: &'static str,
    /// Whose GPU it is.
    name: &'static str,
    /// Every architecture; the first is meant where none is named.
    archs: &'static [&'static str],
    /// Those that run where there is no such GPU and nobody asked for others.
    by_default: &'static [&'static str],
    /// The first architecture goes by the driver's name alone.
    first_unnamed: bool,
    /// The driver whose library it stands in for.
    stands_for: &'static str,
    /// Its library in the vendor's folder.
    library: &'static str,
    /// The variable that chooses the card.
    card: &'static str,
    /// The variable by which the driver finds the vendor's installation, where it has one.
    root: Option<&'static str>,
    /// The variable that names the vendor's real run-time compiler, where its simulator has no
    /// stand-in for that.
    compiler: Option<&'static str>,
    /// The variable that chooses architectures while building.
    built_for: &'static str,
}

/// PTX is compiled forward by the card's driver, so that one card says what all do.
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

/// By default one of wave64, one of wave32.
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
    /// All there are.
    fn all() -> impl Iterator<Item = Self> {
        VENDORS.into_iter().flat_map(|vendor| vendor.archs.iter().map(move |&arch| Self { vendor, arch }))
    }

    /// The device of an id of the form that [`id`](Self::id) gives.
    pub fn of(id: &str) -> Option<Self> {
        Self::all().find(|device| device.id() == id)
    }

    /// The device that a user names, of the simulated driver `driver`: by its architecture, or
    /// without one by the first.
    ///
    /// # Errors
    /// A driver that has no simulator, an architecture that it does not simulate.
    pub fn named(driver: &str, arch: Option<&str>) -> Result<Self> {
        let Some(vendor) = VENDORS.into_iter().find(|vendor| vendor.driver == driver) else {
            bail!("{driver}: there is no such simulated GPU; there are {} and {}", CUDA.driver, ROCM.driver);
        };
        let arch = arch.unwrap_or(vendor.archs[0]);
        super::select::known(&format!("simulated {} GPU", vendor.name), arch, vendor.archs)?;
        Ok(Self::all().find(|device| device.vendor == vendor && device.arch == arch).expect("it is a known one"))
    }

    /// Those that stand in for a driver's GPUs on a machine without.
    pub fn instead_of(driver: &str) -> impl Iterator<Item = Self> {
        let vendors = VENDORS.into_iter().filter(move |vendor| vendor.stands_for == driver);
        vendors.flat_map(|vendor| vendor.by_default.iter().map(move |&arch| Self { vendor, arch }))
    }

    /// The name in reports.
    pub fn id(self) -> String {
        let Vendor { driver, archs, first_unnamed, .. } = self.vendor;
        if *first_unnamed && self.arch == archs[0] { (*driver).into() } else { format!("{driver}:{}", self.arch) }
    }

    /// The name by which the process that has it opens it.
    pub fn opened_as(self) -> String {
        format!("{}:0", self.vendor.stands_for)
    }

    /// That it can be started: this build has the driver and code for it, and the simulator is
    /// built.
    ///
    /// # Errors
    /// It cannot; what to do about that.
    pub fn ready(self) -> Result<()> {
        let (id, packed) = (self.id(), packed(self.vendor)?);
        if packed.is_empty() {
            bail!(
                "{id}: this build carries no compiled kernels for {} GPUs. clang 19 or newer and lld compile them while building; \
                 `cargo xtask doctor` tells what is missing",
                self.vendor.name
            );
        }
        if !packed.iter().any(|packed| runs_on(packed, self.arch)) {
            let Vendor { name, built_for, .. } = self.vendor;
            let others = format!(
                "this build has {name} kernels for {} and none for {}; {built_for}, set while building, chooses them",
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

    /// The variables of a process that has it, with so many threads to simulate on. With `exact`
    /// each storage is an allocation of its own there, so that an access outside it is seen;
    /// without, memory is pooled as users have it, unless the environment says otherwise.
    ///
    /// # Errors
    /// The simulator is not built.
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
            (self.vendor.card, self.arch.into()),
            ("ISOBIT_SIM_THREADS", threads.to_string().into()),
            (POOL_VARIABLE, pool),
        ];
        variables.extend(self.vendor.root.map(|variable| (variable, root.into())));
        Ok(variables)
    }
}

impl Vendor {
    /// Whether its devices can compile kernels: with NVIDIA's own compiler where the environment
    /// names one, with a stand-in for AMD's that runs the clang of the build.
    fn compiles(&self) -> bool {
        self.compiler.is_none_or(|variable| std::env::var_os(variable).is_some())
    }

    /// Where the vendor's run-time compiler lies, where the environment says so.
    fn compiler_folder(&self) -> Option<OsString> {
        let library = PathBuf::from(std::env::var_os(self.compiler?)?);
        Some(library.parent()?.as_os_str().to_owned())
    }

    /// The folder that stands in for the vendor's installation.
    fn folder(&self) -> Result<PathBuf> {
        let simulators = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) => PathBuf::from(folder),
            // Where cargo puts programs, the simulators lie beside them.
            None => {
                let program = std::env::current_exe().context("the path of this program")?;
                program.ancestors().nth(2).context("this program lies in no folder")?.join("simgpu")
            }
        };
        let root = simulators.join(self.stands_for);
        if !root.join("lib").join(self.library).exists() {
            bail!(
                "the simulated {} GPU is not in {}: `cargo xtask conformance` builds it, and so does `cargo run -p isobit-simgpu-install`, \
                 which prints the folder that {FOLDER_VARIABLE} is to name",
                self.name,
                root.display()
            );
        }
        Ok(root)
    }
}

/// Whether code for one architecture runs on another: PTX on later ones too, an AMD code object on
/// its own.
fn runs_on(code: &str, card: &str) -> bool {
    let sm = |arch: &str| arch.strip_prefix("sm_").and_then(|n| n.parse::<u32>().ok());
    match (sm(code), sm(card)) {
        (Some(code), Some(card)) => code <= card,
        _ => code == card,
    }
}

/// The vendor's architectures that this build has kernels for.
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
