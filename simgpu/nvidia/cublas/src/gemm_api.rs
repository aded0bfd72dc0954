//! cuBLAS's matrix products whose types are arguments:
//! <https://docs.nvidia.com/cuda/cublas/#cublasgemmex>, each with 32-bit and 64-bit sizes.

use crate::call::multiply;
use crate::check::{Arguments, Operand};
use crate::types::Status;
use isobit_simgpu_library_common::{CUDA, injected};
use isobit_simgpu_math::gemm::Batch;
use std::ffi::{c_int, c_void};

macro_rules! products {
    ($($size:ty: $single:ident, $strided:ident, $batched:ident;)*) => {$(
        /// Computes C = alpha op(A) op(B) + beta C. The algorithm argument selects among a card's
        /// kernels; here it is only checked for validity.
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or point to a number of the scale type.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $single(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const c_void,
            a: *const c_void,
            a_type: c_int,
            lda: $size,
            b: *const c_void,
            b_type: c_int,
            ldb: $size,
            beta: *const c_void,
            c: *mut c_void,
            c_type: c_int,
            ldc: $size,
            compute_type: c_int,
            algo: c_int,
        ) -> Status {
            injected!(CUDA, stringify!($single));
            let operand = |pointer, datatype, leading: $size| {
                Operand { pointer, datatype, leading: leading.into(), batch: Batch::Strided(0) }
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha, beta],
                a: operand(a, a_type, lda),
                b: operand(b, b_type, ldb),
                c: operand(c.cast_const(), c_type, ldc),
                d: None,
                count: 1,
                compute: compute_type,
                algorithm: algo,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($single)) }
        }

        /// Computes a batch of products whose matrices are a fixed stride apart.
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or point to a number of the scale type.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $strided(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const c_void,
            a: *const c_void,
            a_type: c_int,
            lda: $size,
            stride_a: i64,
            b: *const c_void,
            b_type: c_int,
            ldb: $size,
            stride_b: i64,
            beta: *const c_void,
            c: *mut c_void,
            c_type: c_int,
            ldc: $size,
            stride_c: i64,
            batch_count: $size,
            compute_type: c_int,
            algo: c_int,
        ) -> Status {
            injected!(CUDA, stringify!($strided));
            let operand = |pointer, datatype, leading: $size, stride| {
                Operand { pointer, datatype, leading: leading.into(), batch: Batch::Strided(stride) }
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha, beta],
                a: operand(a, a_type, lda, stride_a),
                b: operand(b, b_type, ldb, stride_b),
                c: operand(c.cast_const(), c_type, ldc, stride_c),
                d: None,
                count: batch_count.into(),
                compute: compute_type,
                algorithm: algo,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($strided)) }
        }

        /// Computes a batch of products whose matrix pointers are in device memory.
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or point to a number of the scale type.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $batched(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const c_void,
            a_array: *const *const c_void,
            a_type: c_int,
            lda: $size,
            b_array: *const *const c_void,
            b_type: c_int,
            ldb: $size,
            beta: *const c_void,
            c_array: *const *mut c_void,
            c_type: c_int,
            ldc: $size,
            batch_count: $size,
            compute_type: c_int,
            algo: c_int,
        ) -> Status {
            injected!(CUDA, stringify!($batched));
            let operand = |pointer, datatype, leading: $size| {
                Operand { pointer, datatype, leading: leading.into(), batch: Batch::Pointers }
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha, beta],
                a: operand(a_array.cast(), a_type, lda),
                b: operand(b_array.cast(), b_type, ldb),
                c: operand(c_array.cast(), c_type, ldc),
                d: None,
                count: batch_count.into(),
                compute: compute_type,
                algorithm: algo,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($batched)) }
        }
    )*};
}

products! {
    c_int: cublasGemmEx, cublasGemmStridedBatchedEx, cublasGemmBatchedEx;
    i64: cublasGemmEx_64, cublasGemmStridedBatchedEx_64, cublasGemmBatchedEx_64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::new_handle;
    use crate::types::*;
    use std::ptr::{null, null_mut};

    fn call(handle: *mut c_void, m: c_int, datatype: c_int) -> Status {
        let one = [0u8; 16];
        let one = one.as_ptr().cast();
        // SAFETY: the scalars hold 16 bytes, and none of these calls accesses the matrices.
        unsafe {
            cublasGemmEx(
                handle,
                0,
                0,
                m,
                1,
                1,
                one,
                one,
                datatype,
                1,
                one,
                datatype,
                1,
                one,
                null_mut(),
                datatype,
                1,
                68,
                -1,
            )
        }
    }

    #[test]
    fn the_first_thing_wrong_is_named() {
        assert_eq!(call(null_mut(), -1, CUDA_R_32F), NOT_INITIALIZED);
        let handle = new_handle();
        assert_eq!(call(handle, -1, CUDA_R_32F), INVALID_VALUE);
        assert_eq!(call(handle, 2, CUDA_R_32F), INVALID_VALUE);
        assert_eq!(call(handle, 1, CUDA_R_64F), NOT_SUPPORTED);
        assert_eq!(call(handle, 0, CUDA_R_32F), SUCCESS);
    }

    #[test]
    fn an_empty_batch_is_nothing_to_do() {
        let (handle, one) = (new_handle(), 1f32);
        let one = std::ptr::from_ref(&one).cast();
        // SAFETY: the scalars are numbers of the scale type, and no call accesses a matrix.
        unsafe {
            let status = cublasGemmBatchedEx_64(
                handle,
                1,
                2,
                2,
                3,
                4,
                one,
                null(),
                0,
                4,
                null(),
                0,
                3,
                one,
                null(),
                0,
                2,
                0,
                68,
                -1,
            );
            assert_eq!(status, SUCCESS);
            let status = cublasGemmStridedBatchedEx(
                handle,
                0,
                0,
                2,
                3,
                4,
                one,
                null(),
                0,
                2,
                0,
                null(),
                0,
                4,
                0,
                one,
                null_mut(),
                0,
                2,
                0,
                -1,
                68,
                -1,
            );
            assert_eq!(status, INVALID_VALUE);
        }
    }
}
