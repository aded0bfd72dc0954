//! Finds functions by name, for the runtime library and other callers.

use crate::Code;
use crate::error::{Result, bail, call, put, put_if_wanted, text};
use crate::functions::FUNCTIONS;
use crate::report::CALLS;
use crate::version::VERSION;
use std::ffi::{c_char, c_int, c_ulonglong, c_void};

/// `CU_GET_PROC_ADDRESS_SUCCESS`, `SYMBOL_NOT_FOUND`, `VERSION_NOT_SUFFICIENT`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;
const TOO_OLD: c_int = 2;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: c_ulonglong = 2;

fn find(name: *const c_char, version: c_int, flags: c_ulonglong) -> Result<(*const c_void, c_int)> {
    // SAFETY: the caller of CUDA promises a string that ends in NUL.
    let name = unsafe { text(name, "the name") }?;
    if flags == PER_THREAD {
        bail!(NOT_SUPPORTED, "functions with a per-thread default stream are not supported; use CU_STREAM_PER_THREAD");
    }
    if flags > PER_THREAD || version > VERSION {
        bail!(INVALID_VALUE, "invalid flags {flags:#x}, or version {version} is newer than driver version {VERSION}");
    }
    let named = || FUNCTIONS.iter().filter(|entry| entry.name == name && !CALLS.is_absent(entry.function));
    Ok(match named().filter(|entry| entry.since <= version).max_by_key(|entry| entry.since) {
        Some(entry) => ((entry.address)(), FOUND),
        None if named().next().is_some() => (std::ptr::null(), TOO_OLD),
        None => (std::ptr::null(), NOT_FOUND),
    })
}

/// Returns the newest version of a function that a given CUDA version knows; if there is none,
/// returns null and the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    to: *mut *const c_void,
    version: c_int,
    flags: c_ulonglong,
    status: *mut c_int,
) -> Code {
    call("cuGetProcAddress_v2", || {
        let (address, found) = find(name, version, flags)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(status, found);
            put(to, address, "the function")
        }
    })
}

/// Like [`cuGetProcAddress_v2`], but an unknown name is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    name: *const c_char,
    to: *mut *const c_void,
    version: c_int,
    flags: c_ulonglong,
) -> Code {
    call("cuGetProcAddress", || {
        let (address, found) = find(name, version, flags)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, address, "the function") }?;
        if found != FOUND {
            bail!(NOT_FOUND, "there is no function of that name for version {version}");
        }
        Ok(())
    })
}
