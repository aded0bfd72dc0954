//! Versions: reports a HIP of ROCm 6.

use crate::Code;
use crate::error::{call, put};
use std::ffi::{c_int, c_uint};

/// 6.3.0, encoded as major times ten million, plus minor times a hundred thousand, plus patch.
pub const VERSION: c_int = 60_300_000;

/// Initialises the simulator. The call is optional: the first call that needs a device does the
/// same.
#[unsafe(no_mangle)]
pub extern "C" fn hipInit(flags: c_uint) -> Code {
    call("hipInit", || {
        if flags != 0 {
            crate::error::bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        crate::process::process().map(drop)
    })
}

/// Writes the version of the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipDriverGetVersion", || unsafe { put(version, VERSION, "the version") })
}

/// Writes the version of the runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipRuntimeGetVersion", || unsafe { put(version, VERSION, "the version") })
}
