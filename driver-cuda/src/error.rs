//! Maps CUDA's error codes to HAL errors.

use cudarc::driver::sys::{self, CUresult};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::native_error;
use std::ffi::CStr;

fn kind_of(code: CUresult) -> ErrorKind {
    match code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        CUresult::CUDA_ERROR_INVALID_DEVICE
        | CUresult::CUDA_ERROR_INVALID_VALUE
        | CUresult::CUDA_ERROR_INVALID_HANDLE => ErrorKind::InvalidArgument,
        CUresult::CUDA_ERROR_NOT_SUPPORTED
        | CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
        | CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
        | CUresult::CUDA_ERROR_TOO_MANY_PEERS => ErrorKind::UnsupportedOp,
        CUresult::CUDA_ERROR_NOT_INITIALIZED
        | CUresult::CUDA_ERROR_NO_DEVICE
        | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | CUresult::CUDA_ERROR_SYSTEM_NOT_READY
        | CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        | CUresult::CUDA_ERROR_STUB_LIBRARY => ErrorKind::LibraryUnavailable,
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED
        | CUresult::CUDA_ERROR_NOT_FOUND => ErrorKind::KernelMissing,
        // After these errors every call in the context fails with the same code.
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUresult::CUDA_ERROR_INVALID_PC
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_ASSERT
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
        | CUresult::CUDA_ERROR_CONTAINED
        | CUresult::CUDA_ERROR_DEINITIALIZED
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED => ErrorKind::DeviceLost,
        // In this crate only calls that begin and end captures return the first of these.
        CUresult::CUDA_ERROR_ILLEGAL_STATE
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_CAPTURED_EVENT
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD => ErrorKind::CaptureViolation,
        _ => ErrorKind::Other,
    }
}

/// Returns `Ok` for success, otherwise an error with the attempted action and CUDA's code, name and
/// description.
#[inline]
pub(crate) fn check(code: CUresult, doing: &str) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(from_code(code, doing)) }
}

/// Converts the status of a query: whether the queried work is done.
pub(crate) fn is_done(code: CUresult, doing: &str) -> Result<bool> {
    match code {
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        code => check(code, doing).map(|()| true),
    }
}

#[cold]
fn from_code(code: CUresult, doing: &str) -> Error {
    let text = |get: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: the driver writes the address of a static string, or leaves null if it does not
        // know the code.
        unsafe {
            get(code, &mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = text(sys::cuGetErrorName).unwrap_or_else(|| "unknown".into());
    let sentence = text(sys::cuGetErrorString).unwrap_or_else(|| "the driver has no description".into());
    native_error(kind_of(code), doing, &sentence, code as i64, name)
}
