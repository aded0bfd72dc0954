//! The objects that describe a product, its matrices and what a program prefers.

use crate::types::*;
use isobit_simgpu_library_common::HIP;
use isobit_simgpu_library_common::attributes::{Rules, Values};
use std::ffi::{c_int, c_void};

const RULES: Rules = Rules {
    success: HIPBLAS_STATUS_SUCCESS,
    invalid: HIPBLAS_STATUS_INVALID_VALUE,
    no_object: HIPBLAS_STATUS_NOT_INITIALIZED,
    unknown: HIPBLAS_STATUS_INVALID_VALUE,
    internal: HIPBLAS_STATUS_INTERNAL_ERROR,
    may_be_larger: true,
};

isobit_simgpu_library_common::attribute_objects! {
    HIP, RULES;

    PRODUCTS, "the description of a product", OF_PRODUCTS: [
        (COMPUTE_TYPE, 4, 0),
        (SCALE_TYPE, 4, 0),
        (HIPBLASLT_MATMUL_DESC_TRANSA, 4, HIPBLAS_OP_N as u64),
        (HIPBLASLT_MATMUL_DESC_TRANSB, 4, HIPBLAS_OP_N as u64),
        (HIPBLASLT_MATMUL_DESC_EPILOGUE, 4, HIPBLASLT_EPILOGUE_DEFAULT as u64),
        (HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0),
        (HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8, 0),
        (HIPBLASLT_MATMUL_DESC_C_SCALE_POINTER, 8, 0),
        (HIPBLASLT_MATMUL_DESC_D_SCALE_POINTER, 8, 0),
        (HIPBLASLT_MATMUL_DESC_POINTER_MODE, 4, HIPBLASLT_POINTER_MODE_HOST as u64),
        (HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, 4, HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
        (HIPBLASLT_MATMUL_DESC_B_SCALE_MODE, 4, HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
    ];
    hipblasLtMatmulDescCreate(compute: c_int => COMPUTE_TYPE, scale: c_int => SCALE_TYPE),
        hipblasLtMatmulDescDestroy, hipblasLtMatmulDescSetAttribute, hipblasLtMatmulDescGetAttribute;

    MATRICES, "the description of a matrix", OF_MATRICES: [
        (HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1),
        (HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0),
        (HIPBLASLT_MATRIX_LAYOUT_TYPE, 4, 0),
        (HIPBLASLT_MATRIX_LAYOUT_ORDER, 4, HIPBLASLT_ORDER_COL as u64),
        (HIPBLASLT_MATRIX_LAYOUT_ROWS, 8, 0),
        (HIPBLASLT_MATRIX_LAYOUT_COLS, 8, 0),
        (HIPBLASLT_MATRIX_LAYOUT_LD, 8, 0),
    ];
    hipblasLtMatrixLayoutCreate(
        datatype: c_int => HIPBLASLT_MATRIX_LAYOUT_TYPE,
        rows: u64 => HIPBLASLT_MATRIX_LAYOUT_ROWS,
        columns: u64 => HIPBLASLT_MATRIX_LAYOUT_COLS,
        leading: i64 => HIPBLASLT_MATRIX_LAYOUT_LD
    ), hipblasLtMatrixLayoutDestroy, hipblasLtMatrixLayoutSetAttribute, hipblasLtMatrixLayoutGetAttribute;

    PREFERENCES, "what a program prefers", OF_PREFERENCES: [
        (HIPBLASLT_MATMUL_PREF_SEARCH_MODE, 4, 0),
        (HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0),
    ];
    hipblasLtMatmulPreferenceCreate(), hipblasLtMatmulPreferenceDestroy, hipblasLtMatmulPreferenceSetAttribute,
        hipblasLtMatmulPreferenceGetAttribute;
}

pub(crate) fn of_product(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&PRODUCTS, object)
}

pub(crate) fn of_matrix(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&MATRICES, object)
}

pub(crate) fn of_preference(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&PREFERENCES, object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{from_mut, from_ref, null, null_mut};

    #[test]
    fn attributes_have_their_sizes_and_what_there_is_not_is_refused() {
        let (mut product, mut preference) = (null_mut(), null_mut());
        let (mode, wide, mut found) = (HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, 7u64, 0u64);
        let (mode, wide, to) = (from_ref(&mode).cast(), from_ref(&wide).cast(), from_mut(&mut found).cast());
        let (set, get) = (hipblasLtMatmulDescSetAttribute, hipblasLtMatmulDescGetAttribute);
        // SAFETY: the values have the given sizes, or the function refuses the size.
        unsafe {
            assert_eq!(hipblasLtMatmulDescCreate(null_mut(), 2, 0), HIPBLAS_STATUS_INVALID_VALUE);
            assert_eq!(hipblasLtMatmulDescCreate(&mut product, 2, 0), HIPBLAS_STATUS_SUCCESS);
            assert_eq!(hipblasLtMatmulPreferenceCreate(&mut preference), HIPBLAS_STATUS_SUCCESS);
            assert_eq!(set(product, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, mode, 4), HIPBLAS_STATUS_SUCCESS);
            assert_eq!(get(product, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, to, 4, null_mut()), HIPBLAS_STATUS_SUCCESS);
            // More bytes than the attribute has are allowed, fewer are not.
            assert_eq!(set(product, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE, wide, 8), HIPBLAS_STATUS_SUCCESS);
            assert_eq!(set(product, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, mode, 4), HIPBLAS_STATUS_INVALID_VALUE);
            assert_eq!(set(product, HIPBLASLT_MATMUL_DESC_TRANSA, null(), 4), HIPBLAS_STATUS_INVALID_VALUE);
            assert_eq!(set(product, 99, mode, 4), HIPBLAS_STATUS_INVALID_VALUE);
            assert_eq!(set(preference, 0, mode, 4), HIPBLAS_STATUS_NOT_INITIALIZED, "of another kind");
        }
        assert_eq!(found, 3);
        let values = of_product(product).unwrap();
        assert_eq!(values.code(HIPBLASLT_MATMUL_DESC_B_SCALE_MODE), 7);
        assert_eq!(values.code(HIPBLASLT_MATMUL_DESC_TRANSB), HIPBLAS_OP_N);
        assert_eq!(hipblasLtMatmulDescDestroy(product), HIPBLAS_STATUS_SUCCESS);
        assert_eq!(hipblasLtMatmulDescDestroy(product), HIPBLAS_STATUS_INVALID_VALUE);
        assert_eq!(of_product(product).unwrap_err(), HIPBLAS_STATUS_INVALID_VALUE);
    }
}
