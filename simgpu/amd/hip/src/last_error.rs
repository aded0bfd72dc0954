//! Error handling: the last error of a thread, names and meanings of codes.

use crate::Code;
use crate::error::{self, bail, call, put};
use std::ffi::c_char;

/// The last error of the calling thread, which is then forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetLastError() -> Code {
    error::take_last()
}

/// As [`hipGetLastError`].
#[unsafe(no_mangle)]
pub extern "C" fn hipExtGetLastError() -> Code {
    error::take_last()
}

/// The last error of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipPeekAtLastError() -> Code {
    error::last()
}

/// The name of a code.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorName(code: Code) -> *const c_char {
    code.name().as_ptr()
}

/// What a code means.
#[unsafe(no_mangle)]
pub extern "C" fn hipGetErrorString(code: Code) -> *const c_char {
    code.meaning().as_ptr()
}

/// The name of a code, which must be one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDrvGetErrorName(code: Code, name: *mut *const c_char) -> Code {
    call("hipDrvGetErrorName", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(name, code.name().as_ptr(), "the name") }?;
        known(code)
    })
}

/// What a code means, which must be one.
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
