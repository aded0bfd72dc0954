//! The arguments of a product, and the checks that rocBLAS documents for them, in rocBLAS's order.

use crate::types::*;
use isobit_simgpu_math::gemm::{Dimensions, Form};
use std::ffi::{c_int, c_void};

/// Returns the form of a matrix for a valid `rocblas_operation`.
pub(crate) fn form(operation: c_int) -> Form {
    match operation {
        OPERATION_NONE => Form::Plain,
        OPERATION_TRANSPOSE => Form::Transposed,
        _ => Form::ConjugateTransposed,
    }
}

/// A matrix argument: column-major, one of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) pointer: *const c_void,
    pub(crate) datatype: c_int,
    pub(crate) leading: c_int,
    pub(crate) stride: i64,
}

/// The arguments of `rocblas_gemm_strided_batched_ex`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) operations: [c_int; 2],
    pub(crate) sizes: [c_int; 3],
    pub(crate) alpha: *const c_void,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) beta: *const c_void,
    pub(crate) c: Operand,
    pub(crate) d: Operand,
    pub(crate) batch: c_int,
    pub(crate) compute: c_int,
}

impl Arguments {
    /// Checks the arguments, except for checks that depend on the scalars' values. Returns
    /// `Ok(false)` if there is nothing to compute.
    pub(crate) fn check(&self) -> Result<bool, Status> {
        if self.operations.iter().any(|o| !(OPERATION_NONE..=OPERATION_CONJUGATE_TRANSPOSE).contains(o)) {
            return Err(INVALID_VALUE);
        }
        let dimensions = Dimensions { sizes: self.sizes.map(i64::from), forms: self.operations.map(form) };
        if !dimensions.are_sizes() || self.batch < 0 {
            return Err(INVALID_SIZE);
        }
        let [a, b, c] = dimensions.rows();
        let leading = [(self.a, a), (self.b, b), (self.c, c), (self.d, c)];
        if leading.iter().any(|(operand, rows)| i64::from(operand.leading) < *rows) {
            return Err(INVALID_SIZE);
        }
        if dimensions.is_empty() || self.batch == 0 {
            return Ok(false);
        }
        if self.c.pointer == self.d.pointer {
            if self.c.datatype != self.d.datatype {
                return Err(INVALID_VALUE);
            }
            if self.c.leading != self.d.leading || self.c.stride != self.d.stride {
                return Err(INVALID_SIZE);
            }
        }
        if self.sizes[2] != 0 && self.alpha.is_null() || self.beta.is_null() || self.d.pointer.is_null() {
            return Err(INVALID_POINTER);
        }
        Ok(true)
    }

    /// Checks the requirements of scalars that are not zero.
    pub(crate) fn check_scalars(&self, alpha_is_zero: bool, beta_is_zero: bool) -> Result<(), Status> {
        let factor_missing = self.sizes[2] != 0 && (self.a.pointer.is_null() || self.b.pointer.is_null());
        if !beta_is_zero && self.c.pointer.is_null() || !alpha_is_zero && factor_missing {
            return Err(INVALID_POINTER);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, without_provenance};

    fn operand(address: usize, leading: c_int) -> Operand {
        Operand { pointer: without_provenance(address), datatype: F32, leading, stride: 0 }
    }

    /// Returns the arguments of a product of 2 x 3 by 3 x 4, in place.
    fn good() -> Arguments {
        Arguments {
            operations: [OPERATION_NONE; 2],
            sizes: [2, 4, 3],
            alpha: without_provenance(8),
            a: operand(0x100, 2),
            b: operand(0x200, 3),
            beta: without_provenance(8),
            c: operand(0x300, 2),
            d: operand(0x300, 2),
            batch: 1,
            compute: F32,
        }
    }

    #[test]
    fn sizes_and_leading_dimensions() {
        assert_eq!(good().check(), Ok(true));
        for at in 0..3 {
            let mut bad = good();
            bad.sizes[at] = -1;
            assert_eq!(bad.check(), Err(INVALID_SIZE), "size {at}");
        }
        assert_eq!(Arguments { batch: -1, ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { a: operand(0x100, 1), ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { b: operand(0x200, 2), ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { c: operand(0x400, 1), ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { d: operand(0x400, 1), ..good() }.check(), Err(INVALID_SIZE));
        // If transposed, A has k rows and B has n rows.
        let transposed = Arguments { operations: [OPERATION_TRANSPOSE, OPERATION_CONJUGATE_TRANSPOSE], ..good() };
        assert_eq!(transposed.check(), Err(INVALID_SIZE));
        let transposed = Arguments { a: operand(0x100, 3), b: operand(0x200, 4), ..transposed };
        assert_eq!(transposed.check(), Ok(true));
        assert_eq!(Arguments { operations: [110, 111], ..good() }.check(), Err(INVALID_VALUE));
    }

    #[test]
    fn nothing_to_do_needs_no_pointers() {
        let none = Arguments { alpha: null(), beta: null(), d: operand(0, 2), ..good() };
        for at in 0..2 {
            let mut empty = none;
            empty.sizes[at] = 0;
            assert_eq!(empty.check(), Ok(false));
        }
        assert_eq!(Arguments { batch: 0, ..none }.check(), Ok(false));
        // An empty sum is not a no-op, although it needs neither alpha nor factors.
        assert_eq!(Arguments { sizes: [2, 4, 0], ..none }.check(), Err(INVALID_POINTER));
        let empty_sum = Arguments { sizes: [2, 4, 0], alpha: null(), a: operand(0, 2), b: operand(0, 3), ..good() };
        assert_eq!(empty_sum.check(), Ok(true));
        assert_eq!(empty_sum.check_scalars(false, false), Ok(()));
    }

    #[test]
    fn pointers_that_scalars_call_for() {
        for (missing, alpha_zero, beta_zero) in [
            (Arguments { a: operand(0, 2), ..good() }, true, false),
            (Arguments { b: operand(0, 3), ..good() }, true, false),
            (Arguments { c: operand(0, 2), ..good() }, false, true),
        ] {
            assert_eq!(missing.check(), Ok(true));
            assert_eq!(missing.check_scalars(false, false), Err(INVALID_POINTER));
            assert_eq!(missing.check_scalars(alpha_zero, beta_zero), Ok(()));
        }
        assert_eq!(Arguments { alpha: null(), ..good() }.check(), Err(INVALID_POINTER));
        assert_eq!(Arguments { beta: null(), ..good() }.check(), Err(INVALID_POINTER));
        assert_eq!(Arguments { d: operand(0, 2), ..good() }.check(), Err(INVALID_POINTER));
    }

    #[test]
    fn in_place_means_the_same_matrix() {
        let d = operand(0x300, 2);
        assert_eq!(Arguments { d: Operand { datatype: F64, ..d }, ..good() }.check(), Err(INVALID_VALUE));
        assert_eq!(Arguments { d: Operand { leading: 3, ..d }, ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { d: Operand { stride: 8, ..d }, ..good() }.check(), Err(INVALID_SIZE));
        assert_eq!(Arguments { d: operand(0x400, 3), ..good() }.check(), Ok(true));
    }
}
