//! The values of hipBLASLt's enumerations, from its header `hipblaslt.h`, from `hipblas-common.h`
//! and from HIP's `library_types.h`.

use std::ffi::c_int;

/// `hipblasStatus_t`.
pub type Status = c_int;

macro_rules! values {
    ($($enumeration:ident: $($constant:ident = $value:literal)*;)*) => {
        $($(#[doc = concat!("`", stringify!($constant), "` of `", stringify!($enumeration), "`.")] pub const $constant: c_int = $value;)*)*
    };
}

values! {
    hipblasStatus_t:
        HIPBLAS_STATUS_SUCCESS = 0 HIPBLAS_STATUS_NOT_INITIALIZED = 1 HIPBLAS_STATUS_INVALID_VALUE = 3
        HIPBLAS_STATUS_EXECUTION_FAILED = 5 HIPBLAS_STATUS_INTERNAL_ERROR = 6 HIPBLAS_STATUS_NOT_SUPPORTED = 7;
    hipblasOperation_t: HIPBLAS_OP_N = 111 HIPBLAS_OP_T = 112 HIPBLAS_OP_C = 113;
    hipblasComputeType_t: HIPBLAS_COMPUTE_32F = 2 HIPBLAS_COMPUTE_32I = 9;
    hipDataType:
        HIP_R_32F = 0 HIP_R_16F = 2 HIP_R_8I = 3 HIP_R_32I = 10 HIP_R_16BF = 14 HIP_R_8F_E4M3 = 28 HIP_R_8F_E5M2 = 29;
    hipblasLtMatmulDescAttributes_t:
        HIPBLASLT_MATMUL_DESC_TRANSA = 0 HIPBLASLT_MATMUL_DESC_TRANSB = 1 HIPBLASLT_MATMUL_DESC_EPILOGUE = 2
        HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER = 5 HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER = 6
        HIPBLASLT_MATMUL_DESC_C_SCALE_POINTER = 7 HIPBLASLT_MATMUL_DESC_D_SCALE_POINTER = 8
        HIPBLASLT_MATMUL_DESC_POINTER_MODE = 13 HIPBLASLT_MATMUL_DESC_A_SCALE_MODE = 31
        HIPBLASLT_MATMUL_DESC_B_SCALE_MODE = 32;
    hipblasLtPointerMode_t: HIPBLASLT_POINTER_MODE_HOST = 0;
    hipblasLtMatmulMatrixScale_t:
        HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0 HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3;
    hipblasLtEpilogue_t: HIPBLASLT_EPILOGUE_DEFAULT = 1;
    hipblasLtOrder_t: HIPBLASLT_ORDER_COL = 0;
    hipblasLtMatrixLayoutAttribute_t:
        HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 0 HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 1
        HIPBLASLT_MATRIX_LAYOUT_TYPE = 2 HIPBLASLT_MATRIX_LAYOUT_ORDER = 3 HIPBLASLT_MATRIX_LAYOUT_ROWS = 4
        HIPBLASLT_MATRIX_LAYOUT_COLS = 5 HIPBLASLT_MATRIX_LAYOUT_LD = 6;
    hipblasLtMatmulPreferenceAttributes_t:
        HIPBLASLT_MATMUL_PREF_SEARCH_MODE = 0 HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
}

/// Private to this library: the compute and the scale type of a product, which are arguments of its
/// creation and no attributes.
pub(crate) const COMPUTE_TYPE: c_int = -1;
/// See [`COMPUTE_TYPE`].
pub(crate) const SCALE_TYPE: c_int = -2;
