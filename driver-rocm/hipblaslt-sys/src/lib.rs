//! Bindings to AMD's hipBLASLt for Isobit's ROCm driver: C types, constants, and a table of
//! functions that [`Hipblaslt::get`] fills from the library of ROCm 6 or 7 if it is installed. The
//! declarations match those of `hipblaslt/hipblaslt.h`, which `cargo xtask bindings --check`
//! compares. AMD's documentation describes each function:
//! <https://rocm.docs.amd.com/projects/hipBLASLt/en/latest/reference/api-reference.html>.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use hip_sys::hipStream_t;
use std::ffi::{c_int, c_uint, c_void};

/// The status of a call.
pub type hipblasStatus_t = c_uint;
/// Whether a matrix is transposed in a product.
pub type hipblasOperation_t = c_uint;
/// The type that a product is computed in.
pub type hipblasComputeType_t = c_uint;
/// The type of an element.
pub type hipDataType = c_uint;
/// The attributes of a product, each of its own type.
pub type hipblasLtMatmulDescAttributes_t = c_uint;
/// The attributes of a matrix, each of its own type.
pub type hipblasLtMatrixLayoutAttribute_t = c_uint;
/// The attributes of a preference, each of its own type.
pub type hipblasLtMatmulPreferenceAttributes_t = c_uint;
/// What each scale of an operand belongs to.
pub type hipblasLtMatmulMatrixScale_t = c_uint;
/// The handle for calls, which belongs to a device.
pub type hipblasLtHandle_t = *mut c_void;

hip_sys::handles! {
    /// The description of a product.
    hipblasLtMatmulDesc_t = hipblasLtMatmulDescOpaque_t;
    /// The description of a matrix.
    hipblasLtMatrixLayout_t = hipblasLtMatrixLayoutOpaque_t;
    /// What the choice of an algorithm prefers.
    hipblasLtMatmulPreference_t = hipblasLtMatmulPreferenceOpaque_t;
}

/// An algorithm; its content belongs to the library.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct _hipblasLtMatmulAlgo_t {
    /// What the library identifies the algorithm by.
    pub data: [u8; 16],
    /// The largest workspace that it may use, in bytes.
    pub max_workspace_bytes: usize,
}

/// An algorithm.
pub type hipblasLtMatmulAlgo_t = _hipblasLtMatmulAlgo_t;

/// An algorithm that the library proposes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct _hipblasLtMatmulHeuristicResult_t {
    /// The algorithm.
    pub algo: hipblasLtMatmulAlgo_t,
    /// The size of the workspace that it needs, in bytes.
    pub workspaceSize: usize,
    /// The other fields are valid if this is success.
    pub state: hipblasStatus_t,
    /// How often the product fills the device.
    pub wavesCount: f32,
    /// Nothing yet.
    pub reserved: [c_int; 4],
}

/// An algorithm that the library proposes.
pub type hipblasLtMatmulHeuristicResult_t = _hipblasLtMatmulHeuristicResult_t;

const _: () = assert!(size_of::<hipblasLtMatmulAlgo_t>() == 24);
const _: () = assert!(size_of::<hipblasLtMatmulHeuristicResult_t>() == 56);

hip_sys::constants! { hipblasStatus_t:
    HIPBLAS_STATUS_SUCCESS = 0, "Done.";
    HIPBLAS_STATUS_NOT_INITIALIZED = 1, "The handle is null or destroyed.";
    HIPBLAS_STATUS_ALLOC_FAILED = 2, "Memory could not be allocated.";
    HIPBLAS_STATUS_INVALID_VALUE = 3, "An argument is null or out of range.";
    HIPBLAS_STATUS_MAPPING_ERROR = 4, "Memory of the device could not be accessed.";
    HIPBLAS_STATUS_EXECUTION_FAILED = 5, "A kernel failed.";
    HIPBLAS_STATUS_INTERNAL_ERROR = 6, "The library failed.";
    HIPBLAS_STATUS_NOT_SUPPORTED = 7, "The library does not support that.";
    HIPBLAS_STATUS_ARCH_MISMATCH = 8, "The device cannot do that.";
    HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9, "The handle is null.";
    HIPBLAS_STATUS_INVALID_ENUM = 10, "An argument is not a value of its enum.";
    HIPBLAS_STATUS_UNKNOWN = 11, "The library returned another status.";
}

hip_sys::constants! { hipblasOperation_t:
    HIPBLAS_OP_N = 111, "The matrix.";
    HIPBLAS_OP_T = 112, "Its transpose.";
}

hip_sys::constants! { hipblasComputeType_t:
    HIPBLAS_COMPUTE_32F = 2, "Single precision.";
}

hip_sys::constants! { hipDataType:
    HIP_R_32F = 0, "IEEE binary32.";
    HIP_R_16F = 2, "IEEE binary16.";
    HIP_R_16BF = 14, "bfloat16.";
    HIP_R_8F_E4M3 = 28, "f8e4m3 of the Open Compute Project.";
    HIP_R_8F_E5M2 = 29, "f8e5m2 of the Open Compute Project.";
    HIP_R_8F_E4M3_FNUZ = 1000, "f8e4m3 of gfx942, whose numbers are others.";
    HIP_R_8F_E5M2_FNUZ = 1001, "f8e5m2 of gfx942, whose numbers are others.";
}

hip_sys::constants! { hipblasLtMatmulDescAttributes_t:
    HIPBLASLT_MATMUL_DESC_TRANSA = 0, "How A is used, a `hipblasOperation_t`.";
    HIPBLASLT_MATMUL_DESC_TRANSB = 1, "How B is used, a `hipblasOperation_t`.";
    HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER = 5, "The address of the scales of A.";
    HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER = 6, "The address of the scales of B.";
    HIPBLASLT_MATMUL_DESC_A_SCALE_MODE = 31, "What each of them belongs to, a `hipblasLtMatmulMatrixScale_t`; since ROCm 7.";
    HIPBLASLT_MATMUL_DESC_B_SCALE_MODE = 32, "The same for B.";
}

hip_sys::constants! { hipblasLtMatmulMatrixScale_t:
    HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0, "There is one for the whole operand.";
    HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3, "Each row of A, or column of B, has one.";
}

hip_sys::constants! { hipblasLtMatrixLayoutAttribute_t:
    HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0, "The number of matrices, an `i32`.";
    HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1, "The distance between them in elements, an `i64`.";
}

hip_sys::constants! { hipblasLtMatmulPreferenceAttributes_t:
    HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1, "The largest workspace, a `u64`.";
}

hip_sys::library! {
    /// hipBLASLt.
    pub struct Hipblaslt {
        name: "hipBLASLt (libhipblaslt)",
        variable: "ISOBIT_HIPBLASLT_LIBRARY",
        // For ROCm 7 and 6.
        sonames: ["libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"]
    }

    /// Creates a handle on the current device.
    fn hipblasLtCreate(handle: *mut hipblasLtHandle_t) -> hipblasStatus_t;
    /// Destroys a handle. Waits for the device.
    fn hipblasLtDestroy(handle: hipblasLtHandle_t) -> hipblasStatus_t;
    /// Describes a product.
    fn hipblasLtMatmulDescCreate(
        matmulDesc: *mut hipblasLtMatmulDesc_t, computeType: hipblasComputeType_t, scaleType: hipDataType,
    ) -> hipblasStatus_t;
    /// Destroys the description of a product.
    fn hipblasLtMatmulDescDestroy(matmulDesc: hipblasLtMatmulDesc_t) -> hipblasStatus_t;
    /// Sets an attribute of a product.
    fn hipblasLtMatmulDescSetAttribute(
        matmulDesc: hipblasLtMatmulDesc_t, attr: hipblasLtMatmulDescAttributes_t, buf: *const c_void,
        sizeInBytes: usize,
    ) -> hipblasStatus_t;
    /// Describes a column-major matrix.
    fn hipblasLtMatrixLayoutCreate(
        matLayout: *mut hipblasLtMatrixLayout_t, r#type: hipDataType, rows: u64, cols: u64, ld: i64,
    ) -> hipblasStatus_t;
    /// Destroys the description of a matrix.
    fn hipblasLtMatrixLayoutDestroy(matLayout: hipblasLtMatrixLayout_t) -> hipblasStatus_t;
    /// Sets an attribute of a matrix.
    fn hipblasLtMatrixLayoutSetAttribute(
        matLayout: hipblasLtMatrixLayout_t, attr: hipblasLtMatrixLayoutAttribute_t, buf: *const c_void,
        sizeInBytes: usize,
    ) -> hipblasStatus_t;
    /// Creates a preference.
    fn hipblasLtMatmulPreferenceCreate(pref: *mut hipblasLtMatmulPreference_t) -> hipblasStatus_t;
    /// Destroys a preference.
    fn hipblasLtMatmulPreferenceDestroy(pref: hipblasLtMatmulPreference_t) -> hipblasStatus_t;
    /// Sets an attribute of a preference.
    fn hipblasLtMatmulPreferenceSetAttribute(
        pref: hipblasLtMatmulPreference_t, attr: hipblasLtMatmulPreferenceAttributes_t, buf: *const c_void,
        sizeInBytes: usize,
    ) -> hipblasStatus_t;
    /// Proposes algorithms, the fastest first.
    fn hipblasLtMatmulAlgoGetHeuristic(
        handle: hipblasLtHandle_t, matmulDesc: hipblasLtMatmulDesc_t, Adesc: hipblasLtMatrixLayout_t,
        Bdesc: hipblasLtMatrixLayout_t, Cdesc: hipblasLtMatrixLayout_t, Ddesc: hipblasLtMatrixLayout_t,
        pref: hipblasLtMatmulPreference_t, requestedAlgoCount: c_int,
        heuristicResultsArray: *mut hipblasLtMatmulHeuristicResult_t, returnAlgoCount: *mut c_int,
    ) -> hipblasStatus_t;
    /// Computes products `d = alpha op(a) op(b) + beta c`.
    fn hipblasLtMatmul(
        handle: hipblasLtHandle_t, matmulDesc: hipblasLtMatmulDesc_t, alpha: *const c_void, A: *const c_void,
        Adesc: hipblasLtMatrixLayout_t, B: *const c_void, Bdesc: hipblasLtMatrixLayout_t, beta: *const c_void,
        C: *const c_void, Cdesc: hipblasLtMatrixLayout_t, D: *mut c_void, Ddesc: hipblasLtMatrixLayout_t,
        algo: *const hipblasLtMatmulAlgo_t, workspace: *mut c_void, workspaceSizeInBytes: usize, stream: hipStream_t,
    ) -> hipblasStatus_t;
}
