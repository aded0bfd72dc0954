//! Bindings to AMD's rocBLAS for Isobit's ROCm driver: C types, constants, and a table of functions
//! that [`Rocblas::get`] fills from the library of ROCm 5, 6 or 7 if it is installed. The
//! declarations match those of `rocblas/rocblas.h`, which `cargo xtask bindings --check` compares.
//! AMD's documentation describes each function:
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The status of a call.
pub type rocblas_status = c_uint;
/// Whether a matrix is transposed in a product.
pub type rocblas_operation = c_uint;
/// The type of an element.
pub type rocblas_datatype = c_uint;
/// Whether results may depend on the order of atomics.
pub type rocblas_atomics_mode = c_uint;
/// How the kernel of a product is selected.
pub type rocblas_gemm_algo = c_uint;
/// The type of sizes and leading dimensions.
pub type rocblas_int = c_int;
/// The type of strides between matrices, in elements.
pub type rocblas_stride = i64;

hip_sys::handles! {
    /// The handle for calls: a device, a stream and a workspace.
    rocblas_handle = _rocblas_handle;
}

hip_sys::constants! { rocblas_status:
    rocblas_status_success = 0, "Done.";
    rocblas_status_invalid_handle = 1, "The handle is null or destroyed.";
    rocblas_status_not_implemented = 2, "This combination of types is not supported.";
    rocblas_status_invalid_pointer = 3, "An address is null.";
    rocblas_status_invalid_size = 4, "A size or a leading dimension is out of range.";
    rocblas_status_memory_error = 5, "Device memory could not be allocated.";
    rocblas_status_internal_error = 6, "A kernel could not be launched.";
    rocblas_status_perf_degraded = 7, "Done, but more slowly than with more memory.";
    rocblas_status_invalid_value = 11, "An argument is not a value of its enum.";
    rocblas_status_excluded_from_build = 14, "This build of the library leaves the function out.";
    rocblas_status_arch_mismatch = 15, "The device cannot do that.";
}

hip_sys::constants! { rocblas_operation:
    rocblas_operation_none = 111, "The matrix.";
    rocblas_operation_transpose = 112, "Its transpose.";
}

hip_sys::constants! { rocblas_datatype:
    rocblas_datatype_f16_r = 150, "IEEE binary16.";
    rocblas_datatype_f32_r = 151, "IEEE binary32.";
    rocblas_datatype_f64_r = 152, "IEEE binary64.";
    rocblas_datatype_i8_r = 160, "8-bit integers.";
    rocblas_datatype_i32_r = 162, "32-bit integers.";
    rocblas_datatype_bf16_r = 168, "bfloat16.";
}

hip_sys::constants! { rocblas_atomics_mode:
    rocblas_atomics_not_allowed = 0, "No kernel whose result depends on the order of atomics.";
    rocblas_atomics_allowed = 1, "Faster kernels, whose last bits may differ from run to run.";
}

hip_sys::constants! { rocblas_gemm_algo:
    rocblas_gemm_algo_standard = 0, "The library chooses.";
}

hip_sys::library! {
    /// rocBLAS.
    pub struct Rocblas {
        name: "rocBLAS (librocblas)",
        variable: "ISOBIT_ROCBLAS_LIBRARY",
        // For ROCm 7, 6, 5.6 and 5.7, 5.0 to 5.5.
        sonames: ["librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"]
    }

    /// Creates a handle on the current device.
    fn rocblas_create_handle(handle: *mut rocblas_handle) -> rocblas_status;
    /// Destroys a handle. Waits for the device.
    fn rocblas_destroy_handle(handle: rocblas_handle) -> rocblas_status;
    /// Sets the stream of a handle.
    fn rocblas_set_stream(handle: rocblas_handle, stream: hipStream_t) -> rocblas_status;
    /// Allows or forbids atomics.
    fn rocblas_set_atomics_mode(handle: rocblas_handle, atomics_mode: rocblas_atomics_mode) -> rocblas_status;
    /// Sets the workspace, which the caller continues to own.
    fn rocblas_set_workspace(handle: rocblas_handle, addr: *mut c_void, size: usize) -> rocblas_status;
    /// Computes products `d = alpha op(a) op(b) + beta c` of column-major matrices at constant
    /// strides.
    fn rocblas_gemm_strided_batched_ex(
        handle: rocblas_handle, transA: rocblas_operation, transB: rocblas_operation, m: rocblas_int, n: rocblas_int,
        k: rocblas_int, alpha: *const c_void, a: *const c_void, a_type: rocblas_datatype, lda: rocblas_int,
        stride_a: rocblas_stride, b: *const c_void, b_type: rocblas_datatype, ldb: rocblas_int,
        stride_b: rocblas_stride, beta: *const c_void, c: *const c_void, c_type: rocblas_datatype, ldc: rocblas_int,
        stride_c: rocblas_stride, d: *mut c_void, d_type: rocblas_datatype, ldd: rocblas_int,
        stride_d: rocblas_stride, batch_count: rocblas_int, compute_type: rocblas_datatype, algo: rocblas_gemm_algo,
        solution_index: i32, flags: u32,
    ) -> rocblas_status;
    /// Returns the length of the version text in bytes, including its NUL.
    fn rocblas_get_version_string_size(len: *mut usize) -> rocblas_status;
    /// Writes the version text.
    fn rocblas_get_version_string(buf: *mut c_char, len: usize) -> rocblas_status;
    /// Returns the name of a status, a static string.
    fn rocblas_status_to_string(status: rocblas_status) -> *const c_char;
}
