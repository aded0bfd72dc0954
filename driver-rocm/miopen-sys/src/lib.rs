//! AMD's MIOpen as Isobit's ROCm driver calls it: C types, constants, and a table of functions that [`Miopen::get`] fills from the library of ROCm
//! 5, 6 or 7 where the machine has it. The declarations are those of `miopen/miopen.h`, which `cargo xtask bindings --check` compares
//! them with. What each function does: <https://rocm.docs.amd.com/projects/MIOpen/en/latest/reference/index.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_char, c_uint};

/// What a call reports.
pub type miopenStatus_t = c_uint;
/// A stream; MIOpen has a backend for OpenCL too, hence the name.
pub type miopenAcceleratorQueue_t = hipStream_t;

hip_sys::handles! {
    /// What calls are made with: a device and a stream.
    miopenHandle_t = miopenHandle;
}

hip_sys::constants! { miopenStatus_t:
    miopenStatusSuccess = 0, "Done.";
    miopenStatusNotInitialized = 1, "The library is not initialised.";
    miopenStatusInvalidValue = 2, "An argument's value is wrong.";
    miopenStatusBadParm = 3, "An argument is wrong.";
    miopenStatusAllocFailed = 4, "No memory is left.";
    miopenStatusInternalError = 5, "The library failed.";
    miopenStatusNotImplemented = 6, "The library does not do that.";
    miopenStatusUnknownError = 7, "Something else.";
}

hip_sys::library! {
    /// MIOpen.
    pub struct Miopen {
        name: "MIOpen (libMIOpen)",
        variable: "ISOBIT_MIOPEN_LIBRARY",
        sonames: ["libMIOpen.so.1", "libMIOpen.so"]
    }

    /// A status's name, a static string.
    fn miopenGetErrorString(error: miopenStatus_t) -> *const c_char;
    /// The version.
    fn miopenGetVersion(major: *mut usize, minor: *mut usize, patch: *mut usize) -> miopenStatus_t;
    /// Makes a handle on the current device, whose work goes to a stream.
    fn miopenCreateWithStream(handle: *mut miopenHandle_t, stream: miopenAcceleratorQueue_t) -> miopenStatus_t;
    /// Destroys a handle.
    fn miopenDestroy(handle: miopenHandle_t) -> miopenStatus_t;
}
