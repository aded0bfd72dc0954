//! What drivers say in the same words: errors of a vendor's code, ordinals that are not there, what a device is.

use crate::runtime::Limits;
use isobit_hal::{DeviceInfo, Error, ErrorKind};

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

/// What limits, architecture and memory (free and total) tell of a device.
pub fn device_info(driver: &str, arch: &str, limits: &Limits, (free, total): (u64, u64)) -> DeviceInfo {
    let mut info = DeviceInfo::default();
    info.driver = driver.into();
    info.arch = arch.into();
    info.warp_size = limits.warp_size as usize;
    info.multiprocessors = limits.multiprocessors as usize;
    info.memory_total = total;
    info.memory_free = free;
    info
}
