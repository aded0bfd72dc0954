//! Which Isobit device `Device::new_cuda(i)` is. Each is opened once: candle lets tensors of two
//! `new_cuda(0)` meet in one operation, and to Isobit they must then be on one device.

use isobit::{AnyDevice, BackendDevice, Error, ErrorKind, FoundDevice, Numerics, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Names the devices, in the order of their ordinals.
const DEVICES: &str = "ISOBIT_CANDLE_DEVICES";
/// Names the numerics of the devices.
const NUMERICS: &str = "ISOBIT_CANDLE_NUMERICS";

/// Ordinals from here on are of devices that a program opened itself.
const FIRST_OF_PROGRAM: usize = 1 << 16;

static OPEN: Mutex<BTreeMap<usize, AnyDevice>> = Mutex::new(BTreeMap::new());

/// Returns the device with an ordinal, and opens it on the first call.
///
/// The devices are those that the variable `ISOBIT_CANDLE_DEVICES` names, such as
/// `rocm:0,cuda:0,cpu`, or all GPUs that are found: first NVIDIA's, then AMD's. The variable
/// `ISOBIT_CANDLE_NUMERICS` is `portable`, `block` or `vendor`; by default a simulated GPU has
/// portable and a real GPU vendor numerics.
///
/// # Errors
/// `InvalidArgument` if there is no such device or a variable is malformed, `LibraryUnavailable` if
/// there is no GPU, or the error of the driver.
pub fn open(ordinal: usize) -> Result<AnyDevice> {
    let mut open = OPEN.lock();
    if let Some(device) = open.get(&ordinal) {
        return Ok(device.clone());
    }
    let found = isobit::enumerate();
    let names = names(variable(DEVICES)?.as_deref(), &found)?;
    let name = names.get(ordinal).ok_or_else(|| absent(ordinal, &names))?;
    let numerics = variable(NUMERICS)?.map(|name| name.parse::<Numerics>()).transpose()?;
    let device = AnyDevice::open_with(name, numerics.unwrap_or_else(|| default_numerics(name, &found)))?;
    // A device may be named twice.
    let device = open.values().find(|other| other.location() == device.location()).cloned().unwrap_or(device);
    open.insert(ordinal, device.clone());
    Ok(device)
}

/// Returns the ordinal of an open device, and gives it one if it has none. Tensors of two devices
/// with one ordinal may meet in an operation.
pub fn ordinal_of(device: &AnyDevice) -> usize {
    let mut open = OPEN.lock();
    if let Some((ordinal, _)) = open.iter().find(|(_, known)| known.same_device(device)) {
        return *ordinal;
    }
    let ordinal = open.keys().next_back().map_or(0, |last| last + 1).max(FIRST_OF_PROGRAM);
    open.insert(ordinal, device.clone());
    ordinal
}

fn variable(name: &str) -> Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(e) => Err(Error::new(ErrorKind::InvalidArgument, format!("{name} is not text")).with_source(e)),
    }
}

fn names(listed: Option<&str>, found: &[FoundDevice]) -> Result<Vec<String>> {
    if let Some(listed) = listed {
        return Ok(listed.split(',').map(|name| name.trim().to_string()).collect());
    }
    let gpus: Vec<String> =
        found.iter().filter(|device| device.location.driver != "cpu").map(|d| d.location.to_string()).collect();
    if gpus.is_empty() {
        return Err(Error::new(ErrorKind::LibraryUnavailable, nothing_found(&isobit::drivers())));
    }
    Ok(gpus)
}

fn nothing_found(drivers: &[isobit::DriverStatus]) -> String {
    let mut message = String::from("no GPU was found");
    for status in drivers.iter().filter(|status| status.driver != "cpu") {
        let why = match &status.devices {
            Ok(_) => "it finds no device".to_string(),
            Err(e) => e.to_string(),
        };
        message += &format!("; {}: {why}", status.driver);
    }
    message + &format!(". {DEVICES}=cpu runs on the CPU")
}

fn absent(ordinal: usize, names: &[String]) -> Error {
    let all: Vec<String> = names.iter().enumerate().map(|(i, name)| format!("{i} is {name}")).collect();
    let message = format!("there is no device {ordinal}: {}; {DEVICES} lists them", all.join(", "));
    Error::new(ErrorKind::InvalidArgument, message)
}

fn default_numerics(name: &str, found: &[FoundDevice]) -> Numerics {
    let bare = |location: &str| location.strip_suffix(":0").unwrap_or(location).to_string();
    let device = found.iter().find(|device| bare(&device.location.to_string()) == bare(name));
    match device.is_some_and(|device| device.info.simulated) {
        true => Numerics::Portable,
        false => Numerics::Vendor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::DeviceLocation;

    fn found(driver: &'static str, ordinal: usize, simulated: bool) -> FoundDevice {
        let mut device = isobit::enumerate().remove(0);
        device.location = DeviceLocation { driver, ordinal };
        device.info.simulated = simulated;
        device
    }

    #[test]
    fn gpus_are_the_devices_unless_others_are_named() {
        let all = [found("cpu", 0, false), found("cuda", 0, false), found("cuda", 1, false), found("rocm", 0, true)];
        assert_eq!(names(None, &all).unwrap(), ["cuda:0", "cuda:1", "rocm:0"]);
        assert_eq!(names(Some("rocm:0, cpu"), &all).unwrap(), ["rocm:0", "cpu"]);
        let e = names(None, &all[..1]).unwrap_err();
        assert!(
            e.kind() == ErrorKind::LibraryUnavailable && e.to_string().contains("ISOBIT_CANDLE_DEVICES=cpu"),
            "{e}"
        );
        let e = absent(2, &["cuda:0".into(), "cpu".into()]).to_string();
        assert!(e.contains("no device 2") && e.contains("0 is cuda:0, 1 is cpu"), "{e}");
    }

    #[test]
    fn real_gpus_have_vendor_and_simulated_ones_portable_numerics() {
        let all = [found("cuda", 0, false), found("rocm", 0, true)];
        for (name, numerics) in [
            ("cuda:0", Numerics::Vendor),
            ("cuda", Numerics::Vendor),
            ("rocm", Numerics::Portable),
            ("rocm:0", Numerics::Portable),
        ] {
            assert_eq!(default_numerics(name, &all), numerics, "{name}");
        }
    }

    #[test]
    fn one_device_has_one_ordinal() {
        let cpu = AnyDevice::cpu();
        let ordinal = ordinal_of(&cpu);
        assert_eq!((ordinal_of(&cpu), ordinal_of(&AnyDevice::cpu())), (ordinal, ordinal));
        assert!(ordinal >= FIRST_OF_PROGRAM && open(ordinal).unwrap().same_device(&cpu));
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_names_there_are() {
        let e = AnyDevice::open_with("metal:0", Numerics::Portable).unwrap_err();
        assert!(e.kind() == ErrorKind::InvalidArgument && e.to_string().contains("metal:0"), "{e}");
    }
}
