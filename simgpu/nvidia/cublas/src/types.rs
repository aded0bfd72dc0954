//! The values of cuBLAS's enumerations, from its headers `cublas_api.h` and `cublasLt.h` and CUDA's
//! `library_types.h`.

use std::ffi::{CStr, c_int};

/// `cublasStatus_t`.
pub type Status = c_int;

macro_rules! statuses {
    ($($constant:ident = $value:literal, $name:ident, $meaning:literal;)*) => {
        $(#[doc = concat!("`", stringify!($name), "`: ", $meaning, ".")] pub const $constant: Status = $value;)*

        /// Returns the name and the description of a status, as `cublasGetStatusName` and
        /// `cublasGetStatusString` return them.
        pub(crate) fn texts(status: Status) -> [&'static CStr; 2] {
            let texts = match status {
                $($constant => [concat!(stringify!($name), "\0"), concat!($meaning, "\0")],)*
                _ => ["unrecognized status\0"; 2],
            };
            texts.map(|text| CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default())
        }
    };
}

statuses! {
    SUCCESS = 0, CUBLAS_STATUS_SUCCESS, "success";
    NOT_INITIALIZED = 1, CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized";
    ALLOC_FAILED = 3, CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed";
    INVALID_VALUE = 7, CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function";
    ARCH_MISMATCH = 8, CUBLAS_STATUS_ARCH_MISMATCH, "the function requires an architectural feature absent from the device";
    MAPPING_ERROR = 11, CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed";
    EXECUTION_FAILED = 13, CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU";
    INTERNAL_ERROR = 14, CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed";
    NOT_SUPPORTED = 15, CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported";
    LICENSE_ERROR = 16, CUBLAS_STATUS_LICENSE_ERROR, "the license check failed";
}

macro_rules! values {
    ($($enumeration:ident: $($constant:ident = $value:literal)*;)*) => {
        $($(#[doc = concat!("`", stringify!($constant), "` of `", stringify!($enumeration), "`.")] pub const $constant: c_int = $value;)*)*
    };
}

values! {
    cublasOperation_t: CUBLAS_OP_N = 0 CUBLAS_OP_T = 1 CUBLAS_OP_C = 2;
    cublasPointerMode_t: CUBLAS_POINTER_MODE_HOST = 0 CUBLAS_POINTER_MODE_DEVICE = 1;
    cublasAtomicsMode_t: CUBLAS_ATOMICS_NOT_ALLOWED = 0 CUBLAS_ATOMICS_ALLOWED = 1;
    cublasMath_t:
        CUBLAS_DEFAULT_MATH = 0 CUBLAS_TENSOR_OP_MATH = 1 CUBLAS_PEDANTIC_MATH = 2 CUBLAS_TF32_TENSOR_OP_MATH = 3
        CUBLAS_FP32_EMULATED_BF16X9_MATH = 4 CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH = 8
        CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16;
    cublasGemmAlgo_t:
        CUBLAS_GEMM_DEFAULT = -1 CUBLAS_GEMM_ALGO0 = 0 CUBLAS_GEMM_ALGO23 = 23
        CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 CUBLAS_GEMM_ALGO15_TENSOR_OP = 115 CUBLAS_GEMM_AUTOTUNE = 999;
    cublasComputeType_t:
        CUBLAS_COMPUTE_16F = 64 CUBLAS_COMPUTE_16F_PEDANTIC = 65
        CUBLAS_COMPUTE_32F = 68 CUBLAS_COMPUTE_32F_PEDANTIC = 69 CUBLAS_COMPUTE_32F_FAST_16F = 74
        CUBLAS_COMPUTE_32F_FAST_16BF = 75 CUBLAS_COMPUTE_32F_FAST_TF32 = 77 CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78
        CUBLAS_COMPUTE_64F = 70 CUBLAS_COMPUTE_64F_PEDANTIC = 71 CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT = 79
        CUBLAS_COMPUTE_32I = 72 CUBLAS_COMPUTE_32I_PEDANTIC = 73;
    cudaDataType_t:
        CUDA_R_32F = 0 CUDA_R_64F = 1 CUDA_R_16F = 2 CUDA_R_8I = 3 CUDA_C_32F = 4 CUDA_C_64F = 5 CUDA_C_8I = 7
        CUDA_R_32I = 10 CUDA_R_16BF = 14 CUDA_R_8F_E4M3 = 28 CUDA_R_8F_E5M2 = 29;
    cublasLtMatmulDescAttributes_t:
        CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0 CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1 CUBLASLT_MATMUL_DESC_POINTER_MODE = 2
        CUBLASLT_MATMUL_DESC_TRANSA = 3 CUBLASLT_MATMUL_DESC_TRANSB = 4 CUBLASLT_MATMUL_DESC_TRANSC = 5
        CUBLASLT_MATMUL_DESC_EPILOGUE = 7 CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17
        CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18 CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31
        CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32;
    cublasLtMatmulMatrixScale_t: CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0 CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3;
    cublasLtEpilogue_t: CUBLASLT_EPILOGUE_DEFAULT = 1;
    cublasLtOrder_t: CUBLASLT_ORDER_COL = 0;
    cublasLtMatrixLayoutAttribute_t:
        CUBLASLT_MATRIX_LAYOUT_TYPE = 0 CUBLASLT_MATRIX_LAYOUT_ORDER = 1 CUBLASLT_MATRIX_LAYOUT_ROWS = 2
        CUBLASLT_MATRIX_LAYOUT_COLS = 3 CUBLASLT_MATRIX_LAYOUT_LD = 4 CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5
        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6;
    cublasLtMatmulPreferenceAttributes_t:
        CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0 CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1
        CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8 CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9
        CUBLASLT_MATMUL_PREF_IMPL_MASK = 12;
}
