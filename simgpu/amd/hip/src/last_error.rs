//! Error handling: the last error of a thread, and the names and meanings of codes.

use crate::Code;
use crate::error::{self, bail, call, put};
use std::ffi::c_char;

/// Returns and clears the last error of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> Code {
    error::take_last()
}

/// As [`hipGetLastError`].
#[unsafe(no_mangle)]
pub extern "C" fn hipExtGetLastError() -> Code {
    error::take_last()
}

/// Returns the last error of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> Code {
    error::last()
}

/// Returns the name of a code.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(code: Code) -> *const c_char {
    code.name().as_ptr()
}

/// Returns the meaning of a code.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(code: Code) -> *const c_char {
    code.meaning().as_ptr()
}

/// Writes the name of a code. An unknown code is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDrvGetErrorName(code: Code, name: *mut *const c_char) -> Code {
    call("hipDrvGetErrorName", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(name, code.name().as_ptr(), "the name") }?;
        known(code)
    })
}

/// Writes the meaning of a code. An unknown code is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDrvGetErrorString(code: Code, meaning: *mut *const c_char) -> Code {
    call("hipDrvGetErrorString", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(meaning, code.meaning().as_ptr(), "the meaning") }?;
        known(code)
    })
}

fn known(code: Code) -> error::Result {
    if !code.is_known() {
        bail!(INVALID_VALUE, "{} is no code of HIP's", code.0);
    }
    Ok(())
}
