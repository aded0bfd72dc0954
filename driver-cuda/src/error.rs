//! CUDA's codes as HAL errors.

use cudarc::driver::sys::{self, CUresult};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::native_error;
use std::ffi::CStr;

fn kind_of(code: CUresult) -> ErrorKind {
    match code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        CUresult::CUDA_ERROR_INVALID_DEVICE | CUresult::CUDA_ERROR_INVALID_VALUE => ErrorKind::InvalidArgument,
        CUresult::CUDA_ERROR_NO_DEVICE
        | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | CUresult::CUDA_ERROR_SYSTEM_NOT_READY
        | CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        | CUresult::CUDA_ERROR_STUB_LIBRARY => ErrorKind::LibraryUnavailable,
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_NOT_FOUND => ErrorKind::KernelMissing,
        // After these the context answers nothing but the same code.
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
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED => ErrorKind::DeviceLost,
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION => ErrorKind::CaptureViolation,
        _ => ErrorKind::Other,
    }
}

/// `Ok` for success, else an error that says what was being done, with CUDA's code, name and sentence.
#[inline]
pub(crate) fn check(code: CUresult, doing: &str) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(from_code(code, doing)) }
}

#[cold]
fn from_code(code: CUresult, doing: &str) -> Error {
    let text = |get: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: the driver writes the address of a static string, or leaves null for a code it does not know.
        unsafe {
            get(code, &mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = text(sys::cuGetErrorName).unwrap_or_else(|| "unknown".into());
    let sentence = text(sys::cuGetErrorString).unwrap_or_else(|| "the driver has no description".into());
    native_error(kind_of(code), doing, &sentence, code as i64, name)
}
