//! HIP's codes as HAL errors.

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
        // After these the device answers nothing but the same code.
        hipErrorIllegalAddress
        | hipErrorLaunchFailure
        | hipErrorLaunchTimeOut
        | hipErrorAssert
        | hipErrorECCNotCorrectable
        | hipErrorInvalidContext
        | hipErrorDeinitialized
        | hipErrorContextIsDestroyed => ErrorKind::DeviceLost,
        // Of the calls made here only those that begin and end captures give the first.
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

/// `Ok` for success, else an error that says what was being done, with HIP's code, name and
/// sentence.
#[inline]
pub(crate) fn check(code: hipError_t, doing: &str) -> Result<()> {
    if code == hipSuccess { Ok(()) } else { Err(from_code(code, doing)) }
}

/// Whether what was asked about is done.
pub(crate) fn is_done(hip: &Hip, code: hipError_t, doing: &str) -> Result<bool> {
    if code == hipErrorNotReady {
        forget(hip);
        return Ok(false);
    }
    check(code, doing).map(|()| true)
}

/// Has HIP forget the thread's last error: libraries over it (rocRAND) ask for that after their own
/// launches, and must not find this crate's.
pub(crate) fn forget(hip: &Hip) {
    // SAFETY: no more than asking.
    unsafe { (hip.hipGetLastError)() };
}

/// A static string of a library, or what to say where there is none.
///
/// # Safety
/// `text` is null or a NUL-terminated string that stays.
pub(crate) unsafe fn static_text(text: *const c_char, otherwise: &str) -> String {
    if text.is_null() {
        return otherwise.into();
    }
    // SAFETY: the caller promises that `text` is null or a NUL-terminated string that stays.
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
