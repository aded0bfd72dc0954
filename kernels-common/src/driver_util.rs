//! What drivers say in the same words: errors of a vendor's code, ordinals that are not there, what
//! a device is.

use isobit_hal::{DeviceInfo, Error, ErrorKind, LibraryInfo, Limits, Result};

/// A failure that the vendor's interface gave a code, a name and a sentence.
#[cold]
pub fn native_error(kind: ErrorKind, doing: &str, sentence: &str, code: i64, name: String) -> Error {
    let message = match kind {
        ErrorKind::DeviceLost => format!("{doing}: {sentence}; open the device again in a new process"),
        _ => format!("{doing}: {sentence}"),
    };
    Error::new(kind, message).with_native(code, name)
}

/// The error for an ordinal that no device has.
#[cold]
pub fn no_such_device(driver: &str, ordinal: usize, count: usize) -> Error {
    let message = format!("there is no device {driver}:{ordinal}: this machine has {count}, numbered from 0");
    Error::new(ErrorKind::InvalidArgument, message)
}

/// What every GPU's driver says of a device in the same way; the rest is for the driver to add.
pub fn device_info(driver: &str, arch: &str, limits: Limits) -> DeviceInfo {
    let mut info = DeviceInfo::default();
    info.driver = driver.into();
    info.arch = arch.into();
    info.warp_size = limits.warp_size as usize;
    info.multiprocessors = limits.multiprocessors as usize;
    info.limits = Some(limits);
    info.capabilities.concurrent_streams = true;
    info.capabilities.graphs = true;
    info.capabilities.async_copies = true;
    info
}

/// Adds a library that something has loaded, from `path`. None is opened for the sake of a version:
/// cuDNN and MIOpen take a gigabyte.
pub fn add_loaded(info: &mut DeviceInfo, name: &str, path: Option<String>, version: impl FnOnce() -> Result<String>) {
    if path.is_some()
        && let Ok(version) = version()
    {
        info.libraries.push(LibraryInfo::new(name, version, path));
    }
}
