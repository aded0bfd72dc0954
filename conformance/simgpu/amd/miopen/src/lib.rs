//! `libMIOpen.so` for the simulated AMD GPU: its handles, and what is asked about the library. No operation is among it yet.
//!
//! <https://rocm.docs.amd.com/projects/MIOpen/en/latest/doxygen/html/group__handle.html>

use isobit_simgpu_standin::{Handles, Hip, Stream, guarded};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// `miopenStatus_t`.
pub type Status = c_int;
/// `miopenStatusSuccess`.
pub const SUCCESS: Status = 0;
/// `miopenStatusBadParm`: a null pointer, or a handle or stream that there is not.
pub const BAD_PARAMETER: Status = 3;
/// `miopenStatusInternalError`.
pub const INTERNAL_ERROR: Status = 5;

/// The version that this stands in for, ROCm 6.2's.
const VERSION: [usize; 3] = [3, 2, 0];

static HANDLES: Handles<Mutex<Stream>> = Handles::new();

/// The text of a status.
#[unsafe(no_mangle)]
pub extern "C" fn miopenGetErrorString(error: Status) -> *const c_char {
    let name: &CStr = match error {
        0 => c"miopenStatusSuccess",
        1 => c"miopenStatusNotInitialized",
        2 => c"miopenStatusInvalidValue",
        3 => c"miopenStatusBadParm",
        4 => c"miopenStatusAllocFailed",
        5 => c"miopenStatusInternalError",
        6 => c"miopenStatusNotImplemented",
        7 => c"miopenStatusUnknownError",
        8 => c"miopenStatusUnsupportedOp",
        9 => c"miopenStatusGpuOperationsSkipped",
        10 => c"miopenStatusVersionMismatch",
        _ => c"Unknown error status",
    };
    name.as_ptr()
}

/// The library's version; each place may be null.
///
/// # Safety
/// Each pointer is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetVersion(major: *mut usize, minor: *mut usize, patch: *mut usize) -> Status {
    for (out, value) in [major, minor, patch].into_iter().zip(VERSION) {
        if !out.is_null() {
            // SAFETY: not null, so the caller's promise.
            unsafe { out.write(value) };
        }
    }
    SUCCESS
}

/// Makes a handle on the default stream.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreate(handle: *mut *mut c_void) -> Status {
    // SAFETY: the caller's promise.
    unsafe { miopenCreateWithStream(handle, std::ptr::null_mut()) }
}

/// Makes a handle on a stream.
///
/// # Safety
/// `handle` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateWithStream(handle: *mut *mut c_void, stream: *mut c_void) -> Status {
    guarded(INTERNAL_ERROR, || {
        if handle.is_null() {
            return BAD_PARAMETER;
        }
        match known(Stream(stream)) {
            SUCCESS => {
                // SAFETY: not null, so the caller's promise.
                unsafe { handle.write(HANDLES.insert(Mutex::new(Stream(stream)))) };
                SUCCESS
            }
            refused => refused,
        }
    })
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub extern "C" fn miopenDestroy(handle: *mut c_void) -> Status {
    guarded(INTERNAL_ERROR, || if HANDLES.remove(handle).is_some() { SUCCESS } else { BAD_PARAMETER })
}

/// Sets the stream that later calls work on.
#[unsafe(no_mangle)]
pub extern "C" fn miopenSetStream(handle: *mut c_void, stream: *mut c_void) -> Status {
    guarded(INTERNAL_ERROR, || {
        let Some(context) = HANDLES.get(handle) else { return BAD_PARAMETER };
        let status = known(Stream(stream));
        if status == SUCCESS {
            *context.lock().unwrap_or_else(PoisonError::into_inner) = Stream(stream);
        }
        status
    })
}

/// The stream that calls work on.
///
/// # Safety
/// `stream` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetStream(handle: *mut c_void, stream: *mut *mut c_void) -> Status {
    guarded(INTERNAL_ERROR, || match HANDLES.get(handle) {
        Some(context) if !stream.is_null() => {
            // SAFETY: not null, so the caller's promise.
            unsafe { stream.write(context.lock().unwrap_or_else(PoisonError::into_inner).0) };
            SUCCESS
        }
        _ => BAD_PARAMETER,
    })
}

fn known(stream: Stream) -> Status {
    match Hip::beside() {
        Ok(hip) if hip.is_capturing(stream).is_ok() => SUCCESS,
        Ok(_) => BAD_PARAMETER,
        Err(why) => {
            eprintln!("MIOpen stand-in: {why}");
            INTERNAL_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    #[test]
    fn what_is_no_handle_is_refused() {
        let stale = HANDLES.insert(Mutex::new(Stream(null_mut())));
        let mut stream = std::ptr::dangling_mut();
        // SAFETY: `stream` can be written, and null is allowed.
        unsafe {
            assert_eq!(miopenGetStream(stale, &mut stream), SUCCESS);
            assert!(stream.is_null());
            assert_eq!(miopenGetStream(stale, null_mut()), BAD_PARAMETER);
            assert_eq!(miopenDestroy(stale), SUCCESS);
            for none in [null_mut(), stale] {
                assert_eq!(miopenGetStream(none, &mut stream), BAD_PARAMETER);
                assert_eq!(miopenSetStream(none, null_mut()), BAD_PARAMETER);
                assert_eq!(miopenDestroy(none), BAD_PARAMETER);
            }
            assert_eq!(miopenCreateWithStream(null_mut(), null_mut()), BAD_PARAMETER);
        }
    }

    #[test]
    fn version_and_names() {
        let (mut major, mut patch) = (0, 9);
        // SAFETY: the places can be written, and null is allowed.
        assert_eq!(unsafe { miopenGetVersion(&mut major, null_mut(), &mut patch) }, SUCCESS);
        assert_eq!((major, patch), (VERSION[0], VERSION[2]));
        // SAFETY: a constant string.
        let name = |status| unsafe { CStr::from_ptr(miopenGetErrorString(status)) };
        assert_eq!((name(6), name(11)), (c"miopenStatusNotImplemented", c"Unknown error status"));
    }
}
