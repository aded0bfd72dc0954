//! HIP's codes as HAL errors.

use crate::library::HIP;
use hip_sys::*;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::native_error;
use std::ffi::{CStr, c_char};

fn kind_of(code: hipError_t) -> ErrorKind {
    match code {
        hipErrorOutOfMemory => ErrorKind::OutOfMemory,
        hipErrorInvalidDevice => ErrorKind::InvalidArgument,
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
        hipErrorStreamCaptureUnsupported
        | hipErrorStreamCaptureInvalidated
        | hipErrorStreamCaptureImplicit
        | hipErrorStreamCaptureIsolation => ErrorKind::CaptureViolation,
        _ => ErrorKind::Other,
    }
}

/// `Ok` for success, else an error that says what was being done, with HIP's code, name and sentence.
#[inline]
pub(crate) fn check(code: hipError_t, doing: &str) -> Result<()> {
    if code == hipSuccess { Ok(()) } else { Err(from_code(code, doing)) }
}

/// A static string of a library, or what to say where there is none.
///
/// # Safety
/// `text` is null or a NUL-terminated string that stays.
pub(crate) unsafe fn static_text(text: *const c_char, otherwise: &str) -> String {
    if text.is_null() {
        return otherwise.into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cold]
fn from_code(code: hipError_t, doing: &str) -> Error {
    let hip = match HIP.require() {
        Ok(hip) => hip,
        Err(e) => return e,
    };
    // SAFETY: HIP returns static strings. It also remembers a thread's last error, and libraries over it (rocRAND) ask for that after their own
    // launches: they must not find this one.
    let (name, sentence) = unsafe {
        (hip.hipGetLastError)();
        (
            static_text((hip.hipGetErrorName)(code), "unknown"),
            static_text((hip.hipGetErrorString)(code), "HIP has no description"),
        )
    };
    native_error(kind_of(code), doing, &sentence, i64::from(code), name)
}
