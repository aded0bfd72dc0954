//! rocBLAS's matrix products:
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/extension.html>.

use crate::api::{Settings, with};
use crate::check::{Arguments, Operand};
use crate::kernel::{self, kernel_for};
use crate::types::*;
use isobit_simgpu_library_common::{HIP, injected};
use isobit_simgpu_math::gemm::Scalar;
use std::ffi::{c_int, c_void};

/// Enqueues D = alpha op(A) op(B) + beta C for every matrix of a batch. Solutions and flags select
/// among a card's kernels and are ignored.
///
/// # Safety
/// In host pointer mode `alpha` and `beta` are null or point to a number of the compute type.
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_strided_batched_ex(
    handle: *mut c_void,
    trans_a: c_int,
    trans_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: c_int,
    stride_a: i64,
    b: *const c_void,
    b_type: c_int,
    ldb: c_int,
    stride_b: i64,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: c_int,
    stride_c: i64,
    d: *mut c_void,
    d_type: c_int,
    ldd: c_int,
    stride_d: i64,
    batch_count: c_int,
    compute_type: c_int,
    _algo: c_int,
    _solution_index: i32,
    _flags: u32,
) -> Status {
    injected!(HIP, "rocblas_gemm_strided_batched_ex");
    let operand = |pointer, datatype, leading, stride| Operand { pointer, datatype, leading, stride };
    let arguments = Arguments {
        operations: [trans_a, trans_b],
        sizes: [m, n, k],
        alpha,
        a: operand(a, a_type, lda, stride_a),
        b: operand(b, b_type, ldb, stride_b),
        beta,
        c: operand(c, c_type, ldc, stride_c),
        d: operand(d.cast_const(), d_type, ldd, stride_d),
        batch: batch_count,
        compute: compute_type,
    };
    // SAFETY: the caller promises that in host pointer mode `alpha` and `beta` are null or point to
    // a number of the compute type.
    unsafe { product(handle, &arguments, "rocblas_gemm_strided_batched_ex") }
}

/// Enqueues D = alpha op(A) op(B) + beta C.
///
/// # Safety
/// As [`rocblas_gemm_strided_batched_ex`].
#[allow(clippy::too_many_arguments, reason = "the vendor's interface")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocblas_gemm_ex(
    handle: *mut c_void,
    trans_a: c_int,
    trans_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: c_int,
    b: *const c_void,
    b_type: c_int,
    ldb: c_int,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: c_int,
    d: *mut c_void,
    d_type: c_int,
    ldd: c_int,
    compute_type: c_int,
    _algo: c_int,
    _solution_index: i32,
    _flags: u32,
) -> Status {
    injected!(HIP, "rocblas_gemm_ex");
    let operand = |pointer, datatype, leading| Operand { pointer, datatype, leading, stride: 0 };
    let arguments = Arguments {
        operations: [trans_a, trans_b],
        sizes: [m, n, k],
        alpha,
        a: operand(a, a_type, lda),
        b: operand(b, b_type, ldb),
        beta,
        c: operand(c, c_type, ldc),
        d: operand(d.cast_const(), d_type, ldd),
        batch: 1,
        compute: compute_type,
    };
    // SAFETY: the caller promises what `rocblas_gemm_strided_batched_ex` requires.
    unsafe { product(handle, &arguments, "rocblas_gemm_ex") }
}

/// # Safety
/// As [`rocblas_gemm_strided_batched_ex`].
unsafe fn product(handle: *mut c_void, arguments: &Arguments, what: &'static str) -> Status {
    with(handle, |context| {
        // SAFETY: the caller promises what `rocblas_gemm_strided_batched_ex` requires.
        match unsafe { try_product(&context.settings(), arguments, what) } {
            Ok(()) => SUCCESS,
            Err(status) => status,
        }
    })
}

/// # Safety
/// As [`rocblas_gemm_strided_batched_ex`].
unsafe fn try_product(settings: &Settings, arguments: &Arguments, what: &'static str) -> Result<(), Status> {
    if !arguments.check()? {
        return Ok(());
    }
    let kernel = kernel_for(arguments).ok_or(NOT_IMPLEMENTED)?;
    let hip = HIP.runtime().map_err(|_| INTERNAL_ERROR)?;
    if settings.pointer_mode == POINTER_MODE_DEVICE {
        // rocBLAS also does this, because its checks and choices need the values: they are fetched
        // after all earlier work.
        hip.synchronize(settings.stream).map_err(|_| MEMORY_ERROR)?;
        for pointer in [arguments.alpha, arguments.beta] {
            let scalar = format!("{what}: a scalar in device memory");
            if !pointer.is_null() && !hip.access(pointer.cast(), kernel.scalar_bytes, false, &scalar) {
                return Err(MEMORY_ERROR);
            }
        }
    }
    let read = |pointer: *const c_void| {
        let mut scalar = Scalar::default();
        // If k is zero, alpha may be null, and it is not used.
        if !pointer.is_null() {
            // SAFETY: the number has the compute type's size, as the caller promises or the
            // simulator allowed; a `Scalar` has room for every compute type.
            unsafe { scalar.as_mut_ptr().copy_from_nonoverlapping(pointer.cast(), kernel.scalar_bytes) };
        }
        scalar
    };
    let scalars = [read(arguments.alpha), read(arguments.beta)];
    arguments.check_scalars((kernel.is_zero)(scalars[0]), (kernel.is_zero)(scalars[1]))?;
    let product = kernel::product(arguments, what);
    let work = move || {
        let access = |at: *const u8, bytes, write, what: &str| hip.access(at, bytes, write, what);
        // SAFETY: a device address is a host address, and the simulator first checks each access.
        unsafe { (kernel.run)(&product, scalars, &access) }
    };
    hip.enqueue(settings.stream, work).map_err(|_| INTERNAL_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::new_handle;
    use std::ptr::{null, null_mut};

    fn call(handle: *mut c_void, m: c_int, datatype: c_int) -> Status {
        let (one, x) = ([0u8; 8], [0u8; 64]);
        let (one, x) = (one.as_ptr().cast(), x.as_ptr().cast::<c_void>());
        // SAFETY: the scalars hold eight bytes, and none of these calls accesses the matrices.
        unsafe {
            rocblas_gemm_ex(
                handle,
                111,
                111,
                m,
                1,
                1,
                one,
                x,
                datatype,
                1,
                x,
                datatype,
                1,
                one,
                x,
                datatype,
                1,
                x.cast_mut(),
                datatype,
                1,
                datatype,
                0,
                0,
                0,
            )
        }
    }

    #[test]
    fn the_first_thing_wrong_is_named() {
        assert_eq!(call(null_mut(), 1, F32), INVALID_HANDLE);
        let handle = new_handle();
        assert_eq!(call(handle, -1, F32), INVALID_SIZE);
        assert_eq!(call(handle, 2, F32), INVALID_SIZE);
        assert_eq!(call(handle, 0, F32), SUCCESS);
        assert_eq!(call(handle, 1, BF16), NOT_IMPLEMENTED);
        // Every pointer is null, and there is nothing to do.
        // SAFETY: null scalars are allowed.
        let status = unsafe {
            rocblas_gemm_strided_batched_ex(
                handle,
                112,
                113,
                5,
                0,
                3,
                null(),
                null(),
                F32,
                3,
                0,
                null(),
                F32,
                1,
                0,
                null(),
                null(),
                F32,
                5,
                0,
                null_mut(),
                F32,
                5,
                0,
                1,
                F32,
                0,
                0,
                0,
            )
        };
        assert_eq!(status, SUCCESS);
    }
}
