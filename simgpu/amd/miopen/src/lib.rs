//! `libMIOpen.so` for the simulated AMD GPU: convolutions and their gradients with respect to the
//! input in MIOpen's immediate mode, computed on the host in stream order. It supports tensors of
//! four dimensions without gaps, groups, and f16, bf16 and f32, summed in f32.
//!
//! <https://rocm.docs.amd.com/projects/MIOpen/en/latest/reference/index.html>

mod descriptors;
mod handle;
mod immediate;

pub use descriptors::*;
pub use handle::*;
pub use immediate::*;

use isobit_simgpu_library_common::{HIP, injected};
use std::ffi::{CStr, c_char, c_int};

/// `miopenStatus_t`.
pub type Status = c_int;
/// `miopenStatusSuccess`.
pub const SUCCESS: Status = 0;
/// `miopenStatusBadParm`: a null pointer, or a handle or stream that does not exist.
pub const BAD_PARAMETER: Status = 3;
/// `miopenStatusInternalError`.
pub const INTERNAL_ERROR: Status = 5;

/// `miopenStatusNotImplemented`: a feature that this library does not implement.
pub const NOT_IMPLEMENTED: Status = 6;

/// The version that this library stands in for, from ROCm 6.2.
const VERSION: [usize; 3] = [3, 2, 0];

/// Returns the name of a status.
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

/// Writes the library's version; each pointer may be null.
///
/// # Safety
/// Each pointer is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenGetVersion(major: *mut usize, minor: *mut usize, patch: *mut usize) -> Status {
    injected!(HIP, "miopenGetVersion");
    for (out, value) in [major, minor, patch].into_iter().zip(VERSION) {
        if !out.is_null() {
            // SAFETY: the pointer is not null; the caller promises that each pointer is null or
            // valid for writes.
            unsafe { out.write(value) };
        }
    }
    SUCCESS
}

/// Returns the status of a result: success, or the status in its error.
pub(crate) fn status(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    isobit_simgpu_fault::remove_absent_functions!();
    use std::ptr::null_mut;

    #[test]
    fn version_and_names() {
        let (mut major, mut patch) = (0, 9);
        // SAFETY: the pointers are valid for writes, and null is allowed.
        assert_eq!(unsafe { miopenGetVersion(&mut major, null_mut(), &mut patch) }, SUCCESS);
        assert_eq!((major, patch), (VERSION[0], VERSION[2]));
        // SAFETY: the pointer points to a constant string.
        let name = |status| unsafe { CStr::from_ptr(miopenGetErrorString(status)) };
        assert_eq!((name(6), name(11)), (c"miopenStatusNotImplemented", c"Unknown error status"));
    }
}
