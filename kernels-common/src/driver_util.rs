//! Error messages and device descriptions that the drivers share.

use crate::vendor::library::is_simulator;
use isobit_hal::{DeviceInfo, Error, ErrorKind, LibraryInfo, Limits, Result};

/// Creates an error from the code, the name and the description that the vendor's interface
/// returned.
#[cold]
pub fn native_error(kind: ErrorKind, doing: &str, sentence: &str, code: i64, name: String) -> Error {
    let message = match kind {
        ErrorKind::DeviceLost => format!("{doing}: {sentence}; open the device again in a new process"),
        _ => format!("{doing}: {sentence}"),
    };
    Error::new(kind, message).with_native(code, name)
}

/// Returns the error for an ordinal that no device has.
#[cold]
pub fn no_such_device(driver: &str, ordinal: usize, count: usize) -> Error {
    let message = format!("there is no device {driver}:{ordinal}: this machine has {count}, numbered from 0");
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Returns a device description with the fields that all GPU drivers fill in the same way, for the
/// runtime library that was loaded from a path. The driver adds the rest.
pub fn device_info(driver: &str, runtime: Option<&str>, arch: &str, limits: Limits) -> DeviceInfo {
    let mut info = DeviceInfo::default();
    info.driver = driver.into();
    info.arch = arch.into();
    info.simulated = is_simulator(runtime);
    info.warp_size = limits.warp_size as usize;
    info.multiprocessors = limits.multiprocessors as usize;
    info.limits = Some(limits);
    info.capabilities.concurrent_streams = true;
    info.capabilities.graphs = true;
    info.capabilities.async_copies = true;
    info
}

/// Adds a library that is already loaded, from `path`. No library is opened only to get its
/// version: cuDNN and MIOpen take a gigabyte.
pub fn add_loaded(info: &mut DeviceInfo, name: &str, path: Option<String>, version: impl FnOnce() -> Result<String>) {
    if path.is_some()
        && let Ok(version) = version()
    {
        info.libraries.push(LibraryInfo::new(name, version, path));
    }
}
