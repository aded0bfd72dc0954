//! cuBLAS's matrix products with the type in their name:
//! <https://docs.nvidia.com/cuda/cublas/#cublas-t-gemm>. Each computes in that type.

use crate::call::multiply;
use crate::check::{Arguments, Operand};
use crate::types::*;
use half::f16;
use isobit_simgpu_library_common::{CUDA, injected};
use isobit_simgpu_math::gemm::Batch;
use isobit_simgpu_math::number::Complex;
use std::ffi::{c_int, c_void};

macro_rules! typed {
    ($($number:ty, $datatype:ident, $compute:ident => {
        $($size:ty: $single:ident, $strided:ident, $batched:ident;)*
    })*) => {$($(
        #[doc = concat!("C = alpha op(A) op(B) + beta C of `", stringify!($datatype), "`.")]
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or can be read.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $single(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const $number,
            a: *const $number,
            lda: $size,
            b: *const $number,
            ldb: $size,
            beta: *const $number,
            c: *mut $number,
            ldc: $size,
        ) -> Status {
            injected!(CUDA, stringify!($single));
            let operand = |pointer: *const $number, leading: $size| Operand {
                pointer: pointer.cast(),
                datatype: $datatype,
                leading: leading.into(),
                batch: Batch::Strided(0),
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha.cast(), beta.cast()],
                a: operand(a, lda),
                b: operand(b, ldb),
                c: operand(c, ldc),
                d: None,
                count: 1,
                compute: $compute,
                algorithm: CUBLAS_GEMM_DEFAULT,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($single)) }
        }

        /// Computes a batch of products whose matrices are a fixed stride apart.
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or can be read.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $strided(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const $number,
            a: *const $number,
            lda: $size,
            stride_a: i64,
            b: *const $number,
            ldb: $size,
            stride_b: i64,
            beta: *const $number,
            c: *mut $number,
            ldc: $size,
            stride_c: i64,
            batch_count: $size,
        ) -> Status {
            injected!(CUDA, stringify!($strided));
            let operand = |pointer: *const $number, leading: $size, stride| Operand {
                pointer: pointer.cast(),
                datatype: $datatype,
                leading: leading.into(),
                batch: Batch::Strided(stride),
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha.cast(), beta.cast()],
                a: operand(a, lda, stride_a),
                b: operand(b, ldb, stride_b),
                c: operand(c, ldc, stride_c),
                d: None,
                count: batch_count.into(),
                compute: $compute,
                algorithm: CUBLAS_GEMM_DEFAULT,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($strided)) }
        }

        /// Computes a batch of products whose matrix pointers are in device memory.
        ///
        /// # Safety
        /// In host pointer mode `alpha` and `beta` are null or can be read.
        #[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $batched(
            handle: *mut c_void,
            transa: c_int,
            transb: c_int,
            m: $size,
            n: $size,
            k: $size,
            alpha: *const $number,
            a_array: *const *const $number,
            lda: $size,
            b_array: *const *const $number,
            ldb: $size,
            beta: *const $number,
            c_array: *const *mut $number,
            ldc: $size,
            batch_count: $size,
        ) -> Status {
            injected!(CUDA, stringify!($batched));
            let operand = |pointer, leading: $size| Operand {
                pointer,
                datatype: $datatype,
                leading: leading.into(),
                batch: Batch::Pointers,
            };
            let arguments = Arguments {
                scales: [None; 2],
                operations: [transa, transb],
                sizes: [m.into(), n.into(), k.into()],
                scalars: [alpha.cast(), beta.cast()],
                a: operand(a_array.cast(), lda),
                b: operand(b_array.cast(), ldb),
                c: operand(c_array.cast(), ldc),
                d: None,
                count: batch_count.into(),
                compute: $compute,
                algorithm: CUBLAS_GEMM_DEFAULT,
            };
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            unsafe { multiply(handle, &arguments, stringify!($batched)) }
        }
    )*)*};
}

typed! {
    f32, CUDA_R_32F, CUBLAS_COMPUTE_32F => {
        c_int: cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemmBatched;
        i64: cublasSgemm_v2_64, cublasSgemmStridedBatched_64, cublasSgemmBatched_64;
    }
    f64, CUDA_R_64F, CUBLAS_COMPUTE_64F => {
        c_int: cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemmBatched;
        i64: cublasDgemm_v2_64, cublasDgemmStridedBatched_64, cublasDgemmBatched_64;
    }
    Complex<f32>, CUDA_C_32F, CUBLAS_COMPUTE_32F => {
        c_int: cublasCgemm_v2, cublasCgemmStridedBatched, cublasCgemmBatched;
        i64: cublasCgemm_v2_64, cublasCgemmStridedBatched_64, cublasCgemmBatched_64;
    }
    Complex<f64>, CUDA_C_64F, CUBLAS_COMPUTE_64F => {
        c_int: cublasZgemm_v2, cublasZgemmStridedBatched, cublasZgemmBatched;
        i64: cublasZgemm_v2_64, cublasZgemmStridedBatched_64, cublasZgemmBatched_64;
    }
    f16, CUDA_R_16F, CUBLAS_COMPUTE_16F => {
        c_int: cublasHgemm, cublasHgemmStridedBatched, cublasHgemmBatched;
        i64: cublasHgemm_64, cublasHgemmStridedBatched_64, cublasHgemmBatched_64;
    }
}
