//! The objects that describe a product, its matrices and what a program prefers.

use crate::types::*;
use isobit_simgpu_library_common::CUDA;
use isobit_simgpu_library_common::attributes::{Rules, Values};
use std::ffi::{c_int, c_void};

const RULES: Rules = Rules {
    success: SUCCESS,
    invalid: INVALID_VALUE,
    no_object: INVALID_VALUE,
    unknown: NOT_SUPPORTED,
    internal: INTERNAL_ERROR,
    may_be_larger: false,
};

isobit_simgpu_library_common::attribute_objects! {
    CUDA, RULES;

    PRODUCTS, "the description of a product", OF_PRODUCTS: [
        (CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, 0),
        (CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, 0),
        (CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSA, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSB, 4, 0),
        (CUBLASLT_MATMUL_DESC_TRANSC, 4, 0),
        (CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT as u64),
        (CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0),
        (CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8, 0),
        (CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
        (CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F as u64),
    ];
    cublasLtMatmulDescCreate(
        compute: c_int => CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
        scale: c_int => CUBLASLT_MATMUL_DESC_SCALE_TYPE
    ), cublasLtMatmulDescDestroy, cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute;

    MATRICES, "the description of a matrix", OF_MATRICES: [
        (CUBLASLT_MATRIX_LAYOUT_TYPE, 4, 0),
        (CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL as u64),
        (CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_COLS, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_LD, 8, 0),
        (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1),
        (CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0),
    ];
    cublasLtMatrixLayoutCreate(
        datatype: c_int => CUBLASLT_MATRIX_LAYOUT_TYPE,
        rows: u64 => CUBLASLT_MATRIX_LAYOUT_ROWS,
        columns: u64 => CUBLASLT_MATRIX_LAYOUT_COLS,
        leading: i64 => CUBLASLT_MATRIX_LAYOUT_LD
    ), cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute;

    PREFERENCES, "what a program prefers", OF_PREFERENCES: [
        (CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, 0),
        (CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0),
        (CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, 7),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4, 256),
        (CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4, 0),
        (CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, u64::MAX),
    ];
    cublasLtMatmulPreferenceCreate(), cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceSetAttribute,
        cublasLtMatmulPreferenceGetAttribute;
}

pub(super) fn of_product(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&PRODUCTS, object)
}

pub(super) fn of_matrix(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&MATRICES, object)
}

pub(super) fn of_preference(object: *mut c_void) -> Result<Values, Status> {
    RULES.values(&PREFERENCES, object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{from_mut, from_ref, null, null_mut};

    fn matrix() -> *mut c_void {
        let mut object = null_mut();
        // SAFETY: an out-parameter.
        assert_eq!(unsafe { cublasLtMatrixLayoutCreate(&mut object, CUDA_R_8I, 5, 7, 8) }, SUCCESS);
        object
    }

    #[test]
    fn attributes_have_their_sizes_and_first_values() {
        let object = matrix();
        let expected = [
            (CUBLASLT_MATRIX_LAYOUT_TYPE, 4, 3u64),
            (CUBLASLT_MATRIX_LAYOUT_ORDER, 4, 0),
            (CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 5),
            (CUBLASLT_MATRIX_LAYOUT_COLS, 8, 7),
            (CUBLASLT_MATRIX_LAYOUT_LD, 8, 8),
            (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1),
            (CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0),
        ];
        for (number, bytes, bits) in expected {
            let (mut found, mut written) = (0u64, 0);
            let to = from_mut(&mut found).cast();
            // SAFETY: the buffer has eight bytes.
            unsafe {
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, null_mut(), 0, &mut written), SUCCESS);
                assert_eq!(written, bytes, "{number}");
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, to, bytes, null_mut()), SUCCESS);
                assert_eq!(cublasLtMatrixLayoutGetAttribute(object, number, to, 12 - bytes, null_mut()), INVALID_VALUE);
            }
            assert_eq!(found, bits, "{number}");
        }
    }

    #[test]
    fn what_is_set_is_kept_and_what_there_is_not_is_refused() {
        let object = matrix();
        let (stride, count) = (-40i64, 3i32);
        let (stride, count) = (from_ref(&stride).cast(), from_ref(&count).cast());
        let set = cublasLtMatrixLayoutSetAttribute;
        // SAFETY: the values have the given sizes, or the function refuses the size.
        unsafe {
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride, 8), SUCCESS);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count, 4), SUCCESS);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, stride, 8), INVALID_VALUE);
            assert_eq!(set(object, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, null(), 4), INVALID_VALUE);
            assert_eq!(set(object, 99, count, 4), NOT_SUPPORTED);
        }
        let values = of_matrix(object).unwrap();
        assert_eq!(values.count(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), -40);
        assert_eq!(values.count(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 3);
        assert_eq!(cublasLtMatrixLayoutDestroy(object), SUCCESS);
        assert_eq!(cublasLtMatrixLayoutDestroy(object), INVALID_VALUE);
        assert_eq!(of_matrix(object).unwrap_err(), INVALID_VALUE);
        // SAFETY: the function checks for null.
        assert_eq!(unsafe { cublasLtMatmulPreferenceCreate(null_mut()) }, INVALID_VALUE);
    }
}
