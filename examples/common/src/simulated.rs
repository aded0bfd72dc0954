//! Simulated GPUs: libraries that replace a vendor's. The loader reads its search path only when a
//! program starts, so a program that wants a simulated GPU starts itself again.

use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The variable that names the folder of the simulators; `cargo xtask` sets it.
const FOLDER_VARIABLE: &str = "ISOBIT_SIMGPU";
/// Set in the program that was started again.
const INSIDE: &str = "ISOBIT_EXAMPLE_SIMULATED";

/// A vendor whose GPUs are simulated.
struct Vendor {
    device: &'static str,
    driver: &'static str,
    library: &'static str,
    card_variable: &'static str,
    /// The available GPUs; the first is the default.
    cards: &'static [&'static str],
}

static VENDORS: [Vendor; 2] = [
    Vendor {
        device: "sim-cuda",
        driver: "cuda",
        library: "libcuda.so",
        card_variable: "ISOBIT_SIM_CUDA",
        cards: &["sm_80", "sm_75", "sm_90"],
    },
    Vendor {
        device: "sim-rocm",
        driver: "rocm",
        library: "libamdhip64.so",
        card_variable: "ISOBIT_SIM_ROCM",
        cards: &["gfx90a", "gfx942", "gfx1100"],
    },
];

/// The result of resolving a device name.
#[derive(Debug)]
pub enum Device {
    /// A device of this process, by its driver's name for it.
    Here(String),
    /// A simulated device, for which the program was started again; this is its exit code.
    Elsewhere(ExitCode),
}

/// Resolves a device name, such as `cuda:0`, `sim-cuda` or `sim-rocm:gfx90a`.
///
/// # Errors
/// Fails if the simulator is not built or the program cannot be started.
pub fn resolve(name: &str) -> Result<Device> {
    let (device, card) = name.split_once(':').map_or((name, None), |(device, card)| (device, Some(card)));
    let Some(vendor) = VENDORS.iter().find(|vendor| vendor.device == device) else {
        return Ok(Device::Here(name.into()));
    };
    if std::env::var_os(INSIDE).is_some() {
        return Ok(Device::Here(format!("{}:0", vendor.driver)));
    }
    let card = card.unwrap_or(vendor.cards[0]);
    ensure!(vendor.cards.contains(&card), "{device}: there is no card {card}, there are {}", vendor.cards.join(", "));
    let mut again = vendor.command(card)?;
    let status = again.status().context("this program does not start again")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(code) => Ok(Device::Elsewhere(code.into())),
        None => bail!("the program that was started for {name} was stopped ({status})"),
    }
}

impl Vendor {
    /// Returns a command for this program with the same arguments on a simulated GPU.
    fn command(&self, card: &str) -> Result<Command> {
        let program = std::env::current_exe().context("the path of this program")?;
        let folder = match std::env::var_os(FOLDER_VARIABLE) {
            Some(folder) => PathBuf::from(folder),
            // In cargo's target folder, the simulators are next to the programs.
            None => program.ancestors().nth(2).context("this program lies in no folder")?.join("simgpu"),
        };
        let root = folder.join(self.driver);
        let library = root.join("lib").join(self.library);
        if !library.exists() {
            bail!(
                "{}: there is no {}. `cargo run -p isobit-simgpu-install` builds the simulators and prints the folder that \
                 {FOLDER_VARIABLE} is to name",
                self.device,
                library.display()
            );
        }
        let mut path = root.join("lib").into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            path.push(":");
            path.push(more);
        }
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).env(INSIDE, "1").env("LD_LIBRARY_PATH", path);
        // Each storage gets its own allocation, so that the simulator detects accesses outside it.
        command.env(self.card_variable, card).env("ISOBIT_POOL", "exact");
        if self.driver == "rocm" {
            command.env("ROCM_PATH", root);
        }
        Ok(command)
    }
}
