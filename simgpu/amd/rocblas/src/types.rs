//! The values of rocBLAS's enumerations:
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/enumerations.html>.

use std::ffi::{CStr, c_int};

/// `rocblas_status`.
pub type Status = c_int;

macro_rules! statuses {
    ($($constant:ident = $value:literal, $name:ident, $meaning:literal;)*) => {
        $(#[doc = concat!("`", stringify!($name), "`: ", $meaning, ".")] pub const $constant: Status = $value;)*

        /// Returns the name of a status, as `rocblas_status_to_string` does.
        pub(crate) fn name(status: Status) -> &'static CStr {
            let name = match status {
                $($constant => concat!(stringify!($name), "\0"),)*
                _ => "<undefined rocblas_status value>\0",
            };
            CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
        }
    };
}

statuses! {
    SUCCESS = 0, rocblas_status_success, "success";
    INVALID_HANDLE = 1, rocblas_status_invalid_handle, "the handle is null or does not refer to a live object";
    NOT_IMPLEMENTED = 2, rocblas_status_not_implemented, "a combination of types that is not implemented";
    INVALID_POINTER = 3, rocblas_status_invalid_pointer, "a required pointer is null";
    INVALID_SIZE = 4, rocblas_status_invalid_size, "a size is negative or a leading dimension too small";
    MEMORY_ERROR = 5, rocblas_status_memory_error, "device memory cannot be allocated or copied";
    INTERNAL_ERROR = 6, rocblas_status_internal_error, "another error in the library";
    PERF_DEGRADED = 7, rocblas_status_perf_degraded, "performance is reduced because device memory is missing";
    SIZE_QUERY_MISMATCH = 8, rocblas_status_size_query_mismatch, "a query of sizes without its start or end";
    SIZE_INCREASED = 9, rocblas_status_size_increased, "a queried size increased";
    SIZE_UNCHANGED = 10, rocblas_status_size_unchanged, "a queried size did not change";
    INVALID_VALUE = 11, rocblas_status_invalid_value, "an argument has an invalid value";
    CONTINUE = 12, rocblas_status_continue, "nothing prevents a function from continuing";
    CHECK_NUMERICS_FAIL = 13, rocblas_status_check_numerics_fail, "an operand contains a NaN, an infinity or a subnormal number";
    EXCLUDED_FROM_BUILD = 14, rocblas_status_excluded_from_build, "not included in this build";
    ARCH_MISMATCH = 15, rocblas_status_arch_mismatch, "the device does not have a feature that the function needs";
}

/// `rocblas_operation_none`.
pub const OPERATION_NONE: c_int = 111;
/// `rocblas_operation_transpose`.
pub const OPERATION_TRANSPOSE: c_int = 112;
/// `rocblas_operation_conjugate_transpose`, which for real numbers is the transpose.
pub const OPERATION_CONJUGATE_TRANSPOSE: c_int = 113;

/// `rocblas_datatype_f16_r`.
pub const F16: c_int = 150;
/// `rocblas_datatype_f32_r`.
pub const F32: c_int = 151;
/// `rocblas_datatype_f64_r`.
pub const F64: c_int = 152;
/// `rocblas_datatype_i8_r`.
pub const I8: c_int = 160;
/// `rocblas_datatype_i32_r`.
pub const I32: c_int = 162;
/// `rocblas_datatype_bf16_r`.
pub const BF16: c_int = 168;

/// `rocblas_pointer_mode_host`: scalars are read from host memory during the call.
pub const POINTER_MODE_HOST: c_int = 0;
/// `rocblas_pointer_mode_device`: scalars lie in device memory.
pub const POINTER_MODE_DEVICE: c_int = 1;

/// `rocblas_atomics_not_allowed`.
pub const ATOMICS_NOT_ALLOWED: c_int = 0;
/// `rocblas_atomics_allowed`.
pub const ATOMICS_ALLOWED: c_int = 1;
