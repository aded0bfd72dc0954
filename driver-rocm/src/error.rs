//! Maps HIP's error codes to HAL errors.

use crate::library::HIP;
use hip_sys::*;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::native_error;
use std::ffi::{CStr, c_char};

fn kind_of(code: hipError_t) -> ErrorKind {
    match code {
        hipErrorOutOfMemory => ErrorKind::OutOfMemory,
        hipErrorInvalidDevice | hipErrorInvalidValue | hipErrorInvalidHandle => ErrorKind::InvalidArgument,
        hipErrorNotSupported | hipErrorPeerAccessUnsupported | hipErrorPeerAccessNotEnabled => ErrorKind::UnsupportedOp,
        hipErrorNoDevice | hipErrorInsufficientDriver | hipErrorNotInitialized | hipErrorSharedObjectInitFailed => {
            ErrorKind::LibraryUnavailable
        }
        hipErrorNoBinaryForGpu
        | hipErrorInvalidDeviceFunction
        | hipErrorInvalidKernelFile
        | hipErrorInvalidImage
        | hipErrorNotFound => ErrorKind::KernelMissing,
        // After these errors every call on the device fails with the same code.
        hipErrorIllegalAddress
        | hipErrorLaunchFailure
        | hipErrorLaunchTimeOut
        | hipErrorAssert
        | hipErrorECCNotCorrectable
        | hipErrorInvalidContext
        | hipErrorDeinitialized
        | hipErrorContextIsDestroyed => ErrorKind::DeviceLost,
        // In this crate only calls that begin and end captures return the first of these.
        hipErrorIllegalState
        | hipErrorStreamCaptureUnsupported
        | hipErrorStreamCaptureInvalidated
        | hipErrorStreamCaptureMerge
        | hipErrorStreamCaptureUnmatched
        | hipErrorStreamCaptureUnjoined
        | hipErrorStreamCaptureIsolation
        | hipErrorStreamCaptureImplicit
        | hipErrorCapturedEvent
        | hipErrorStreamCaptureWrongThread => ErrorKind::CaptureViolation,
        _ => ErrorKind::Other,
    }
}

/// Returns `Ok` for success, otherwise an error with the attempted action and HIP's code, name and
/// description.
#[inline]
pub(crate) fn check(code: hipError_t, doing: &str) -> Result<()> {
    if code == hipSuccess { Ok(()) } else { Err(from_code(code, doing)) }
}

/// Converts the status of a query: whether the queried work is done.
pub(crate) fn is_done(hip: &Hip, code: hipError_t, doing: &str) -> Result<bool> {
    if code == hipErrorNotReady {
        forget(hip);
        return Ok(false);
    }
    check(code, doing).map(|()| true)
}

/// Clears the thread's last HIP error. Libraries on top of HIP (rocRAND) read it after their own
/// launches, and must not find an error of this crate.
pub(crate) fn forget(hip: &Hip) {
    // SAFETY: the call only reads and clears the error.
    unsafe { (hip.hipGetLastError)() };
}

/// Returns a static string of a library, or `otherwise` if it is null.
///
/// # Safety
/// `text` is null or a NUL-terminated string that is never freed.
pub(crate) unsafe fn static_text(text: *const c_char, otherwise: &str) -> String {
    if text.is_null() {
        return otherwise.into();
    }
    // SAFETY: the caller promises that `text` is null or a NUL-terminated string that is never
    // freed.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cold]
fn from_code(code: hipError_t, doing: &str) -> Error {
    let hip = match HIP.require() {
        Ok(hip) => hip,
        Err(e) => return e,
    };
    forget(hip);
    // SAFETY: HIP returns static strings.
    let (name, sentence) = unsafe {
        (
            static_text((hip.hipGetErrorName)(code), "unknown"),
            static_text((hip.hipGetErrorString)(code), "HIP has no description"),
        )
    };
    native_error(kind_of(code), doing, &sentence, i64::from(code), name)
}
