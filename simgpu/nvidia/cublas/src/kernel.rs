//! The matrix products that NVIDIA lists, and the meaning of cuBLAS's arguments for them:
//! <https://docs.nvidia.com/cuda/cublas/#cublasgemmex>.

use crate::check::{Arguments, Operand};
use crate::types::*;
use half::{bf16, f16};
use isobit_simgpu_math::gemm::{Form, Kernel, Matrix, Product, kernel, mixed};
use isobit_simgpu_math::number::{Complex, F8E4M3, F8E5M2, Input};

/// Returns the kernel for the types of A and B, of C, and of the computation; `None` if NVIDIA does
/// not list the combination.
pub(crate) fn kernel_for(arguments: &Arguments) -> Option<Kernel> {
    let Arguments { a, b, c, compute, .. } = arguments;
    // Only cuBLASLt, which names the result, has products of f8.
    if arguments.d.is_some() && *compute == CUBLAS_COMPUTE_32F {
        match (a.datatype, b.datatype) {
            (CUDA_R_8F_E4M3, CUDA_R_8F_E4M3) => return of_f8::<F8E4M3, F8E4M3>(c.datatype),
            (CUDA_R_8F_E4M3, CUDA_R_8F_E5M2) => return of_f8::<F8E4M3, F8E5M2>(c.datatype),
            (CUDA_R_8F_E5M2, CUDA_R_8F_E4M3) => return of_f8::<F8E5M2, F8E4M3>(c.datatype),
            _ => {}
        }
    }
    if a.datatype != b.datatype {
        return None;
    }
    let types = (a.datatype, c.datatype);
    match *compute {
        CUBLAS_COMPUTE_16F | CUBLAS_COMPUTE_16F_PEDANTIC => match types {
            (CUDA_R_16F, CUDA_R_16F) => Some(kernel::<f16, f16, f16>()),
            _ => None,
        },
        CUBLAS_COMPUTE_32I | CUBLAS_COMPUTE_32I_PEDANTIC => match types {
            (CUDA_R_8I, CUDA_R_32I) => Some(kernel::<i8, i32, i32>()),
            _ => None,
        },
        CUBLAS_COMPUTE_32F | CUBLAS_COMPUTE_32F_PEDANTIC => single(types).or_else(|| narrow(types)),
        CUBLAS_COMPUTE_32F_FAST_16F
        | CUBLAS_COMPUTE_32F_FAST_16BF
        | CUBLAS_COMPUTE_32F_FAST_TF32
        | CUBLAS_COMPUTE_32F_EMULATED_16BFX9 => single(types),
        CUBLAS_COMPUTE_64F | CUBLAS_COMPUTE_64F_PEDANTIC | CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT => match types {
            (CUDA_R_64F, CUDA_R_64F) => Some(kernel::<f64, f64, f64>()),
            (CUDA_C_64F, CUDA_C_64F) => Some(kernel::<Complex<f64>, Complex<f64>, Complex<f64>>()),
            _ => None,
        },
        _ => None,
    }
}

fn of_f8<A: Input<f32>, B: Input<f32>>(result: i32) -> Option<Kernel> {
    match result {
        CUDA_R_16F => Some(mixed::<A, B, f16, f32>()),
        CUDA_R_16BF => Some(mixed::<A, B, bf16, f32>()),
        CUDA_R_32F => Some(mixed::<A, B, f32, f32>()),
        _ => None,
    }
}

/// Whether a product of single precision runs on the matrix units, which take its factors with the
/// precision of TF32: the program allowed it for this product, or for all of a handle.
pub(crate) fn is_tf32(arguments: &Arguments, math_mode: i32) -> bool {
    let allowed = match arguments.compute {
        CUBLAS_COMPUTE_32F_FAST_TF32 => true,
        CUBLAS_COMPUTE_32F => {
            math_mode & !CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION == CUBLAS_TF32_TENSOR_OP_MATH
        }
        _ => false,
    };
    allowed && [&arguments.a, &arguments.b, &arguments.c].iter().all(|operand| operand.datatype == CUDA_R_32F)
}

fn single(types: (i32, i32)) -> Option<Kernel> {
    match types {
        (CUDA_R_32F, CUDA_R_32F) => Some(kernel::<f32, f32, f32>()),
        (CUDA_C_32F, CUDA_C_32F) => Some(kernel::<Complex<f32>, Complex<f32>, Complex<f32>>()),
        _ => None,
    }
}

/// Returns the kernel for inputs narrower than single precision that are summed in single
/// precision.
fn narrow(types: (i32, i32)) -> Option<Kernel> {
    match types {
        (CUDA_R_16BF, CUDA_R_16BF) => Some(kernel::<bf16, bf16, f32>()),
        (CUDA_R_16F, CUDA_R_16F) => Some(kernel::<f16, f16, f32>()),
        (CUDA_R_8I, CUDA_R_32F) => Some(kernel::<i8, f32, f32>()),
        (CUDA_R_16BF, CUDA_R_32F) => Some(kernel::<bf16, f32, f32>()),
        (CUDA_R_16F, CUDA_R_32F) => Some(kernel::<f16, f32, f32>()),
        (CUDA_C_8I, CUDA_C_32F) => Some(kernel::<Complex<i8>, Complex<f32>, Complex<f32>>()),
        _ => None,
    }
}

/// Builds the product from arguments that passed their checks.
pub(crate) fn product(arguments: &Arguments, what: &'static str) -> Product {
    let size = |n: i64| usize::try_from(n).unwrap_or_default();
    let matrix = |operand: Operand, form| Matrix {
        // The queued work refers to the memory by its address.
        address: operand.pointer.expose_provenance(),
        leading: size(operand.leading),
        batch: operand.batch,
        form,
    };
    let [a_form, b_form] = arguments.forms().unwrap_or([Form::Plain; 2]);
    Product {
        what,
        sizes: arguments.sizes.map(size),
        batch: size(arguments.count),
        a: matrix(arguments.a, a_form),
        b: matrix(arguments.b, b_form),
        c: matrix(arguments.c, Form::Plain),
        d: matrix(arguments.result(), Form::Plain),
        d_name: if arguments.d.is_some() { "D" } else { "C" },
        scales: arguments.scales,
    }
}

#[cfg(test)]
mod tests;
