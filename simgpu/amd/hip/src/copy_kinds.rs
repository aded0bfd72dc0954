//! The kinds of copies, which say whether each side is on the host or on a device.

use crate::error::{Result, bail};
use isobit_simgpu_runtime_common::copy::Copy;
use std::ffi::c_int;

/// `hipMemcpyKind`: from the host to the host.
pub const HOST_TO_HOST: c_int = 0;
/// From the host to a device.
pub const HOST_TO_DEVICE: c_int = 1;
/// From a device to the host.
pub const DEVICE_TO_HOST: c_int = 2;
/// Within a device or between two.
pub const DEVICE_TO_DEVICE: c_int = 3;
/// The direction is derived from the addresses.
pub const DEFAULT: c_int = 4;
/// Like [`DEVICE_TO_DEVICE`], but does not use compute units.
pub const DEVICE_TO_DEVICE_NO_CU: c_int = 1024;

/// Whether the destination and the source of a copy are device memory, according to its kind.
///
/// # Errors
/// `hipErrorInvalidMemcpyDirection`.
pub(crate) fn devices(kind: c_int) -> Result<(bool, bool)> {
    Ok(match kind {
        HOST_TO_HOST | DEFAULT => (false, false),
        HOST_TO_DEVICE => (true, false),
        DEVICE_TO_HOST => (false, true),
        DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU => (true, true),
        _ => bail!(INVALID_MEMCPY_DIRECTION, "{kind} is not a kind of copy"),
    })
}

/// Returns a copy of bytes.
pub(crate) fn of_bytes(to: u64, from: u64, bytes: usize, kind: c_int) -> Result<Copy> {
    let (to_device, from_device) = devices(kind)?;
    Ok(Copy::of_bytes(to, to_device, from, from_device, bytes))
}
