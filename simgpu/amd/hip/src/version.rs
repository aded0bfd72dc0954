//! Versions: a HIP of ROCm 6.

use crate::Code;
use crate::error::{call, put};
use std::ffi::{c_int, c_uint};

/// 6.3.0: major times ten million, minor times a hundred thousand, patch.
pub const VERSION: c_int = 60_300_000;

/// Initialises; the devices are there already at the first call that needs one.
#[unsafe(no_mangle)]
pub extern "C" fn hipInit(flags: c_uint) -> Code {
    call("hipInit", || {
        if flags != 0 {
            crate::error::bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        crate::process::process().map(drop)
    })
}

/// The version of the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipDriverGetVersion", || unsafe { put(version, VERSION, "the version") })
}

/// The version of the runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipRuntimeGetVersion", || unsafe { put(version, VERSION, "the version") })
}
