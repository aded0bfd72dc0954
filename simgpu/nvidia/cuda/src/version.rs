//! Initialization, versions, and the descriptions of codes: a CUDA 13.0 driver.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::process::start;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// 13.0: major times 1000 plus minor times 10.
pub const VERSION: c_int = 13000;

/// Initializes the driver. Every other function, except those for versions and codes, requires it.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    call("cuInit", || {
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        start().map(drop)
    })
}

/// Returns the version of the driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuDriverGetVersion", || unsafe { put(version, VERSION, "the version") })
}

/// Writes a text about a code, or null if the code is unknown.
fn about(code: Code, to: *mut *const c_char, text: &'static CStr) -> Result {
    let known = code.is_known();
    // SAFETY: the caller of CUDA promises room for a pointer.
    unsafe { put(to, if known { text.as_ptr() } else { std::ptr::null() }, "the text") }?;
    if !known {
        bail!(INVALID_VALUE, "{} is not a CUDA result code", code.0);
    }
    Ok(())
}

/// Returns the name of a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, to: *mut *const c_char) -> Code {
    call("cuGetErrorName", || about(code, to, code.name()))
}

/// Returns the description of a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, to: *mut *const c_char) -> Code {
    call("cuGetErrorString", || about(code, to, code.meaning()))
}

/// Returns a table of undocumented functions; there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(to: *mut *const c_void, _id: *const c_void) -> Code {
    call("cuGetExportTable", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, std::ptr::null(), "the table") }?;
        bail!(NOT_FOUND, "there are no tables of undocumented functions")
    })
}

/// Starts the profiler; there is none.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> Code {
    call("cuProfilerStart", || crate::current::current().map(drop))
}

/// Stops the profiler; there is none.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> Code {
    call("cuProfilerStop", || crate::current::current().map(drop))
}
