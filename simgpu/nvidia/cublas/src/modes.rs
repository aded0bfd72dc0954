//! The modes of a handle: where the scalars are, and which optimizations a product may use.

use crate::api::{put, with};
use crate::types::*;
use isobit_simgpu_library_common::{CUDA, Stream, injected};
use std::ffi::{c_int, c_void};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) stream: Stream,
    pub(crate) pointer_mode: c_int,
    atomics_mode: c_int,
    pub(crate) math_mode: c_int,
}

impl Settings {
    pub(crate) fn new(stream: Stream, pointer_mode: c_int) -> Self {
        Self { stream, pointer_mode, atomics_mode: CUBLAS_ATOMICS_NOT_ALLOWED, math_mode: CUBLAS_DEFAULT_MATH }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(Stream(std::ptr::null_mut()), CUBLAS_POINTER_MODE_HOST)
    }
}

/// Whether the value is one of the math modes, optionally combined with a flag bit.
fn is_math_mode(mode: c_int) -> bool {
    matches!(
        mode & !CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION,
        CUBLAS_DEFAULT_MATH
            | CUBLAS_TENSOR_OP_MATH
            | CUBLAS_PEDANTIC_MATH
            | CUBLAS_TF32_TENSOR_OP_MATH
            | CUBLAS_FP32_EMULATED_BF16X9_MATH
            | CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH
    )
}

macro_rules! modes {
    ($($field:ident, $valid:expr, $set:ident, $get:ident, $what:literal;)*) => {$(
        #[doc = concat!("Sets ", $what, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $set(handle: *mut c_void, mode: c_int) -> Status {
            injected!(CUDA, stringify!($set));
            let valid: fn(c_int) -> bool = $valid;
            with(handle, |context| if valid(mode) { context.set(|s| s.$field = mode) } else { INVALID_VALUE })
        }

        #[doc = concat!("Returns ", $what, ".")]
        ///
        /// # Safety
        /// `mode` is null or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(handle: *mut c_void, mode: *mut c_int) -> Status {
            injected!(CUDA, stringify!($get));
            // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
            with(handle, |context| unsafe { put(mode, context.settings().$field) })
        }
    )*};
}

modes! {
    pointer_mode, |mode| matches!(mode, CUBLAS_POINTER_MODE_HOST | CUBLAS_POINTER_MODE_DEVICE),
        cublasSetPointerMode_v2, cublasGetPointerMode_v2, "where the scalars are stored";
    atomics_mode, |mode| matches!(mode, CUBLAS_ATOMICS_NOT_ALLOWED | CUBLAS_ATOMICS_ALLOWED),
        cublasSetAtomicsMode, cublasGetAtomicsMode, "whether atomics may be used, with which results can differ from run to run";
    math_mode, is_math_mode,
        cublasSetMathMode, cublasGetMathMode, "the allowed precision of products";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::new_handle;
    use std::ptr::null_mut;

    #[test]
    fn modes_are_kept_and_values_that_there_are_not_refused() {
        type Set = extern "C" fn(*mut c_void, c_int) -> Status;
        type Get = unsafe extern "C" fn(*mut c_void, *mut c_int) -> Status;
        type Case<'a> = (Set, Get, c_int, &'a [c_int], &'a [c_int]);
        let cases: [Case<'_>; 3] = [
            (cublasSetPointerMode_v2, cublasGetPointerMode_v2, 0, &[1, 0], &[-1, 2]),
            (cublasSetAtomicsMode, cublasGetAtomicsMode, 0, &[1, 0], &[-1, 2]),
            (cublasSetMathMode, cublasGetMathMode, 0, &[1, 2, 3, 4, 8, 16, 18, 0], &[-1, 5, 32]),
        ];
        let handle = new_handle();
        for (set, get, default, good, bad) in cases {
            let read = || {
                let mut mode = -7;
                // SAFETY: `mode` can be written.
                assert_eq!(unsafe { get(handle, &mut mode) }, SUCCESS);
                mode
            };
            assert_eq!(read(), default);
            for &mode in good {
                assert_eq!(set(handle, mode), SUCCESS, "{mode}");
                assert_eq!(read(), mode);
            }
            for &mode in bad {
                assert_eq!(set(handle, mode), INVALID_VALUE, "{mode}");
            }
            assert_eq!(read(), good[good.len() - 1]);
            assert_eq!(set(null_mut(), good[0]), NOT_INITIALIZED);
            // SAFETY: the function checks for null.
            assert_eq!(unsafe { get(handle, null_mut()) }, INVALID_VALUE);
        }
    }
}
