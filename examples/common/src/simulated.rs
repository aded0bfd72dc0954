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

/// The result of resolving a device name, or several.
#[derive(Debug)]
pub enum Device<Names = String> {
    /// A device of this process, by its driver's name for it.
    Here(Names),
    /// A simulated device, for which the program was started again; this is its exit code.
    Elsewhere(ExitCode),
}

/// Resolves a device name, such as `cuda:0`, `sim-cuda` or `sim-rocm:gfx90a`.
///
/// # Errors
/// Fails if the simulator is not built or the program cannot be started.
pub fn resolve(name: &str) -> Result<Device> {
    Ok(match resolve_all(&[name.into()])? {
        Device::Here(mut names) => Device::Here(names.remove(0)),
        Device::Elsewhere(code) => Device::Elsewhere(code),
    })
}

/// Resolves the names of several devices. Each mention of a simulated device is a card of its own.
///
/// # Errors
/// Fails if a simulator is not built, if it would replace the library of a real GPU that is named
/// too, or if the program cannot be started.
pub fn resolve_all(names: &[String]) -> Result<Device<Vec<String>>> {
    let mut cards = VENDORS.each_ref().map(|_| Vec::new());
    let mut here = Vec::with_capacity(names.len());
    for name in names {
        let (device, card) = name.split_once(':').map_or((name.as_str(), None), |(device, card)| (device, Some(card)));
        let Some((vendor, cards)) = VENDORS.iter().zip(&mut cards).find(|(vendor, _)| vendor.device == device) else {
            here.push(name.clone());
            continue;
        };
        let card = card.unwrap_or(vendor.cards[0]);
        let known = vendor.cards.join(", ");
        ensure!(vendor.cards.contains(&card), "{device}: there is no card {card}, there are {known}");
        here.push(format!("{}:{}", vendor.driver, cards.len()));
        cards.push(card);
    }
    let used: Vec<_> = VENDORS.iter().zip(cards).filter(|(_, cards)| !cards.is_empty()).collect();
    for (Vendor { device, driver, .. }, _) in &used {
        if let Some(real) = names.iter().find(|name| name.split(':').next() == Some(driver)) {
            bail!("{device} replaces the library of {real}: name only one of them");
        }
    }
    if used.is_empty() || std::env::var_os(INSIDE).is_some() {
        return Ok(Device::Here(here));
    }
    let status = again(&used)?.status().context("this program does not start again")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(code) => Ok(Device::Elsewhere(code.into())),
        None => bail!("the program that was started for {} was stopped ({status})", names.join(", ")),
    }
}

/// Returns a command for this program with the same arguments on simulated GPUs.
fn again(used: &[(&Vendor, Vec<&str>)]) -> Result<Command> {
    let program = std::env::current_exe().context("the path of this program")?;
    let folder = match std::env::var_os(FOLDER_VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        // In cargo's target folder, the simulators are next to the programs.
        None => program.ancestors().nth(2).context("this program lies in no folder")?.join("simgpu"),
    };
    let mut paths = Vec::new();
    let mut command = Command::new(&program);
    for (vendor, cards) in used {
        let root = folder.join(vendor.driver);
        let library = root.join("lib").join(vendor.library);
        if !library.exists() {
            bail!(
                "{}: there is no {}. `cargo run -p isobit-simgpu-install` builds the simulators and prints the folder that \
                 {FOLDER_VARIABLE} is to name",
                vendor.device,
                library.display()
            );
        }
        command.env(vendor.card_variable, cards.join(","));
        paths.push(root.join("lib"));
        if vendor.driver == "rocm" {
            command.env("ROCM_PATH", root);
        }
    }
    let more = std::env::var_os("LD_LIBRARY_PATH").filter(|paths| !paths.is_empty());
    paths.extend(more.iter().flat_map(std::env::split_paths));
    let paths = std::env::join_paths(paths).context("the search path of libraries")?;
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1").env("LD_LIBRARY_PATH", paths);
    // Each storage gets its own allocation, so that the simulator detects accesses outside it.
    command.env("ISOBIT_POOL", "exact");
    Ok(command)
}
