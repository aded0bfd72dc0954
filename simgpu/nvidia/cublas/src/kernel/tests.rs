//! Tests every combination of types that NVIDIA lists, and that no other combination is accepted.

use super::*;
use isobit_simgpu_math::gemm::{Batch, Scalar};
use std::ffi::{c_int, c_void};
use std::fmt::Debug;
use std::ptr::null;

/// A 1 x 2 matrix times a 2 x 1 matrix, which gives one number.
fn arguments([ab, c, compute]: [c_int; 3]) -> Arguments {
    let operand = |datatype| Operand { pointer: null(), datatype, leading: 1, batch: Batch::Strided(0) };
    Arguments {
        scales: [None; 2],
        operations: [CUBLAS_OP_N, CUBLAS_OP_C],
        sizes: [1, 1, 2],
        scalars: [null(); 2],
        a: operand(ab),
        b: operand(ab),
        c: operand(c),
        d: None,
        count: 1,
        compute,
        algorithm: CUBLAS_GEMM_DEFAULT,
    }
}

/// A number as its real and imaginary parts; real types ignore the imaginary part.
type Number = [i8; 2];

/// Checks 2 (3 (5 + i)* + 4 (-1 - 2i)*) - (7 + i) in the given types: 15 + 9i for complex types, 15
/// for real types.
fn check<T, O: PartialEq + Debug>(
    types: [c_int; 3],
    scalar: fn(i8) -> Vec<u8>,
    make: fn(Number) -> T,
    make_out: fn(Number) -> O,
) {
    let (a, b) = ([[3, 0], [4, 0]].map(make), [[5, 1], [-1, -2]].map(make));
    let mut c = [[7, 1]].map(make_out);
    let at = |o: Operand, pointer: *const c_void| Operand { pointer, ..o };
    let plain = arguments(types);
    let arguments = Arguments {
        a: at(plain.a, a.as_ptr().cast()),
        b: at(plain.b, b.as_ptr().cast()),
        c: at(plain.c, c.as_mut_ptr().cast_const().cast()),
        ..plain
    };
    let kernel = kernel_for(&arguments).unwrap_or_else(|| panic!("{types:?} is listed"));
    let scalars = [2, -1].map(|x| {
        let mut bytes = Scalar::default();
        assert_eq!(scalar(x).len(), kernel.scalar_bytes, "{types:?}");
        bytes[..kernel.scalar_bytes].copy_from_slice(&scalar(x));
        bytes
    });
    // SAFETY: the operands are as large as their shapes.
    unsafe { (kernel.run)(&product(&arguments, "test"), scalars, &|_, _, _, _| true) };
    // The values are small enough to be exact in every type.
    assert_eq!(c, [[15, 9]].map(make_out), "{types:?}");
}

fn bytes(parts: [f64; 2]) -> [Vec<u8>; 2] {
    let single = parts.map(|x| (x as f32).to_ne_bytes());
    [single.concat(), parts.map(f64::to_ne_bytes).concat()]
}

#[test]
fn a_listed_combination_computes_in_its_types() {
    let half = |x: Number| f16::from_f32(x[0].into());
    let brain = |x: Number| bf16::from_f32(x[0].into());
    let (single, double) = (|x: Number| f32::from(x[0]), |x: Number| f64::from(x[0]));
    let singles = |x: Number| Complex { re: f32::from(x[0]), im: f32::from(x[1]) };
    let doubles = |x: Number| Complex { re: f64::from(x[0]), im: f64::from(x[1]) };
    let single_scalar = |x: i8| f32::from(x).to_ne_bytes().to_vec();
    let (singles_scalar, doubles_scalar) =
        (|x: i8| bytes([x.into(), 0.0])[0].clone(), |x: i8| bytes([x.into(), 0.0])[1].clone());
    for compute in [CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_16F_PEDANTIC] {
        let scalar = |x: i8| f16::from_f32(x.into()).to_ne_bytes().to_vec();
        check([CUDA_R_16F, CUDA_R_16F, compute], scalar, half, half);
    }
    for compute in [CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I_PEDANTIC] {
        let scalar = |x: i8| i32::from(x).to_ne_bytes().to_vec();
        check([CUDA_R_8I, CUDA_R_32I, compute], scalar, |x| x[0], |x| i32::from(x[0]));
    }
    for compute in [CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC] {
        check([CUDA_R_16BF, CUDA_R_16BF, compute], single_scalar, brain, brain);
        check([CUDA_R_16F, CUDA_R_16F, compute], single_scalar, half, half);
        check([CUDA_R_8I, CUDA_R_32F, compute], single_scalar, |x| x[0], single);
        check([CUDA_R_16BF, CUDA_R_32F, compute], single_scalar, brain, single);
        check([CUDA_R_16F, CUDA_R_32F, compute], single_scalar, half, single);
        let bytes = |x: Number| Complex { re: x[0], im: x[1] };
        check([CUDA_C_8I, CUDA_C_32F, compute], singles_scalar, bytes, singles);
    }
    for compute in [
        CUBLAS_COMPUTE_32F,
        CUBLAS_COMPUTE_32F_PEDANTIC,
        CUBLAS_COMPUTE_32F_FAST_16F,
        CUBLAS_COMPUTE_32F_FAST_16BF,
        CUBLAS_COMPUTE_32F_FAST_TF32,
        CUBLAS_COMPUTE_32F_EMULATED_16BFX9,
    ] {
        check([CUDA_R_32F, CUDA_R_32F, compute], single_scalar, single, single);
        check([CUDA_C_32F, CUDA_C_32F, compute], singles_scalar, singles, singles);
    }
    for compute in [CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT] {
        check([CUDA_R_64F, CUDA_R_64F, compute], |x| f64::from(x).to_ne_bytes().to_vec(), double, double);
        check([CUDA_C_64F, CUDA_C_64F, compute], doubles_scalar, doubles, doubles);
    }
}

#[test]
fn nothing_else_has_a_kernel() {
    let combinations = || (0..40).flat_map(|ab| (0..40).map(move |c| [ab, c]));
    let listed = |compute| combinations().filter(|&[ab, c]| kernel_for(&arguments([ab, c, compute])).is_some()).count();
    // The number of rows in NVIDIA's table for each compute type.
    for (compute, rows) in [
        (64, 1),
        (65, 1),
        (68, 8),
        (69, 8),
        (70, 2),
        (71, 2),
        (72, 1),
        (73, 1),
        (74, 2),
        (75, 2),
        (77, 2),
        (78, 2),
        (79, 2),
    ] {
        assert_eq!(listed(compute), rows, "compute type {compute}");
    }
    for compute in [-1, 0, 63, 66, 67, 76, 80] {
        assert_eq!(listed(compute), 0, "compute type {compute}");
    }
    let plain = arguments([CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F]);
    let mixed = Arguments { b: Operand { datatype: CUDA_R_16F, ..plain.b }, ..plain };
    assert!(kernel_for(&mixed).is_none());
}

/// The manual: a handle in this mode uses TF32 for products of single precision, and one in the
/// default mode does not, with or without the flag for reductions.
#[test]
fn tf32_is_used_where_a_product_or_its_handle_allows_it() {
    let types = [CUDA_R_32F, CUDA_R_32F];
    let uses = |[ab, c]: [i32; 2], compute, mode| is_tf32(&arguments([ab, c, compute]), mode);
    let flag = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    for mode in [CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH | flag] {
        assert!(uses(types, CUBLAS_COMPUTE_32F, mode));
        assert!(!uses(types, CUBLAS_COMPUTE_32F_PEDANTIC, mode));
        assert!(!uses([CUDA_R_16F, CUDA_R_32F], CUBLAS_COMPUTE_32F, mode));
    }
    for mode in [CUBLAS_DEFAULT_MATH, CUBLAS_PEDANTIC_MATH, flag] {
        assert!(!uses(types, CUBLAS_COMPUTE_32F, mode), "{mode}");
        assert!(uses(types, CUBLAS_COMPUTE_32F_FAST_TF32, mode), "{mode}");
    }
}
