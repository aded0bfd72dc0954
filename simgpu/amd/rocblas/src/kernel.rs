//! The products that rocBLAS supports, and the meaning of its arguments for them.

use crate::check::{Arguments, Operand, form};
use crate::types::*;
use half::{bf16, f16};
use isobit_simgpu_math::gemm::{Batch, Form, Kernel, Matrix, Product, kernel};

/// Returns the kernel for the types of A and B, of C and D, and of the computation. Returns `None`
/// if rocBLAS does not list the combination, or if it is complex.
pub(crate) fn kernel_for(arguments: &Arguments) -> Option<Kernel> {
    let Arguments { a, b, c, d, compute, .. } = arguments;
    if a.datatype != b.datatype || c.datatype != d.datatype {
        return None;
    }
    match (a.datatype, c.datatype, *compute) {
        (F64, F64, F64) => Some(kernel::<f64, f64, f64>()),
        (F32, F32, F32) => Some(kernel::<f32, f32, f32>()),
        (F16, F16, F16) => Some(kernel::<f16, f16, f16>()),
        (F16, F16, F32) => Some(kernel::<f16, f16, f32>()),
        (F16, F32, F32) => Some(kernel::<f16, f32, f32>()),
        (BF16, BF16, F32) => Some(kernel::<bf16, bf16, f32>()),
        (BF16, F32, F32) => Some(kernel::<bf16, f32, f32>()),
        (I8, I32, I32) => Some(kernel::<i8, i32, i32>()),
        _ => None,
    }
}

/// Returns the product of arguments that passed their checks.
pub(crate) fn product(arguments: &Arguments, what: &'static str) -> Product {
    let size = |n: i32| usize::try_from(n).unwrap_or_default();
    let matrix = |operand: Operand, form| Matrix {
        // The queued work stores the memory's address.
        address: operand.pointer.expose_provenance(),
        leading: size(operand.leading),
        batch: Batch::Strided(operand.stride),
        form,
    };
    let [a_form, b_form] = arguments.operations.map(form);
    Product {
        what,
        sizes: arguments.sizes.map(size),
        batch: size(arguments.batch),
        a: matrix(arguments.a, a_form),
        b: matrix(arguments.b, b_form),
        c: matrix(arguments.c, Form::Plain),
        d: matrix(arguments.d, Form::Plain),
        d_name: "D",
        scales: [None; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_simgpu_math::gemm::Scalar;
    use std::ffi::{c_int, c_void};
    use std::ptr::null;

    fn arguments(ab: c_int, cd: c_int, compute: c_int) -> Arguments {
        let operand = |datatype| Operand { pointer: null(), datatype, leading: 1, stride: 0 };
        Arguments {
            operations: [OPERATION_NONE, OPERATION_TRANSPOSE],
            sizes: [1, 1, 2],
            alpha: null(),
            a: operand(ab),
            b: operand(ab),
            beta: null(),
            c: operand(cd),
            d: operand(cd),
            batch: 1,
            compute,
        }
    }

    /// Computes 2 * (3 * 5 + 4 * -1) - 7 in the given types.
    fn check<T, O: PartialEq + std::fmt::Debug>(
        types: [c_int; 3],
        scalar: fn(i8) -> Vec<u8>,
        make: fn(i8) -> T,
        make_out: fn(i8) -> O,
    ) {
        let (a, b, c, mut d) = ([3, 4].map(make), [5, -1].map(make), [7].map(make_out), [0].map(make_out));
        let at = |o: Operand, pointer: *const c_void| Operand { pointer, ..o };
        let plain = arguments(types[0], types[1], types[2]);
        let arguments = Arguments {
            a: at(plain.a, a.as_ptr().cast()),
            b: at(plain.b, b.as_ptr().cast()),
            c: at(plain.c, c.as_ptr().cast()),
            d: at(plain.d, d.as_mut_ptr().cast_const().cast()),
            ..plain
        };
        let kernel = kernel_for(&arguments).unwrap();
        let scalars = [2, -1].map(|x| {
            let mut bytes = Scalar::default();
            assert_eq!(scalar(x).len(), kernel.scalar_bytes, "{types:?}");
            bytes[..kernel.scalar_bytes].copy_from_slice(&scalar(x));
            bytes
        });
        // SAFETY: the operands are as large as their shapes say.
        unsafe { (kernel.run)(&product(&arguments, "test"), scalars, &|_, _, _, _| true) };
        // 15 is small enough to be exact in every type.
        assert_eq!(d, [15].map(make_out), "{types:?}");
    }

    #[test]
    fn a_listed_combination_computes_in_its_types() {
        let half = |x: i8| f16::from_f32(x.into());
        let brain = |x: i8| bf16::from_f32(x.into());
        let single = |x: i8| f32::from(x).to_ne_bytes().to_vec();
        check([F64, F64, F64], |x| f64::from(x).to_ne_bytes().to_vec(), f64::from, f64::from);
        check([F32, F32, F32], single, f32::from, f32::from);
        check([F16, F16, F16], |x| f16::from_f32(x.into()).to_ne_bytes().to_vec(), half, half);
        check([F16, F16, F32], single, half, half);
        check([F16, F32, F32], single, half, f32::from);
        check([BF16, BF16, F32], single, brain, brain);
        check([BF16, F32, F32], single, brain, f32::from);
        check([I8, I32, I32], |x| i32::from(x).to_ne_bytes().to_vec(), |x| x, i32::from);
    }

    #[test]
    fn types_that_are_not_listed_have_no_kernel() {
        for (ab, cd, compute) in
            [(F32, F32, F64), (F64, F32, F32), (BF16, BF16, BF16), (154, 154, 154), (I8, I8, I32), (0, 0, 0)]
        {
            assert!(kernel_for(&arguments(ab, cd, compute)).is_none(), "{ab} {cd} {compute}");
        }
        let plain = arguments(F32, F32, F32);
        let mixed = Arguments { b: Operand { datatype: F16, ..plain.b }, ..plain };
        assert!(kernel_for(&mixed).is_none());
    }
}
