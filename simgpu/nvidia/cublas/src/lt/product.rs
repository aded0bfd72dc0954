//! A product as its objects describe it, and what cuBLASLt requires of it.

use super::objects::{of_matrix, of_product};
use crate::check::{Arguments, Operand};
use crate::types::*;
use isobit_simgpu_library_common::attributes::Values;
use isobit_simgpu_math::gemm::{Batch, Scale};
use std::ffi::{c_int, c_void};

/// The objects of a product: its description, and those of A, B, C and D.
pub(super) type Objects = [*mut c_void; 5];

/// A product without addresses.
#[derive(Debug)]
pub(super) struct Description {
    product: Values,
    matrices: [Values; 4],
}

impl Description {
    pub(super) fn of([product, a, b, c, d]: Objects) -> Result<Self, Status> {
        Ok(Self {
            product: of_product(product)?,
            matrices: [of_matrix(a)?, of_matrix(b)?, of_matrix(c)?, of_matrix(d)?],
        })
    }

    /// Returns where the scalars are.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if there is one for each row of the result.
    pub(super) fn pointer_mode(&self) -> Result<c_int, Status> {
        let mode = self.product.code(CUBLASLT_MATMUL_DESC_POINTER_MODE);
        let is_known = [CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE].contains(&mode);
        is_known.then_some(mode).ok_or(NOT_SUPPORTED)
    }

    fn operand(&self, at: usize, pointer: *const c_void) -> Operand {
        let matrix = &self.matrices[at];
        Operand {
            pointer,
            datatype: matrix.code(CUBLASLT_MATRIX_LAYOUT_TYPE),
            leading: matrix.count(CUBLASLT_MATRIX_LAYOUT_LD),
            batch: Batch::Strided(matrix.count(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)),
        }
    }

    /// Rows and columns of a matrix as it is used.
    fn shape(&self, at: usize, operation: c_int) -> [i64; 2] {
        let of = |number| self.matrices[at].count(number);
        let shape = [of(CUBLASLT_MATRIX_LAYOUT_ROWS), of(CUBLASLT_MATRIX_LAYOUT_COLS)];
        if operation == CUBLAS_OP_N { shape } else { [shape[1], shape[0]] }
    }

    /// Returns the scales of A and B; without an address there is none.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if one operand has them by lines and the other has not, or for other modes.
    fn scales(&self) -> Result<[Option<Scale>; 2], Status> {
        let modes = [CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE];
        let by_line = match modes.map(|mode| self.product.code(mode)) {
            [CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F] => false,
            [CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F] => true,
            _ => return Err(NOT_SUPPORTED),
        };
        let pointers = [CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER];
        Ok(pointers.map(|pointer| {
            let address = self.product.bits(pointer) as usize;
            (address != 0).then_some(Scale { address, by_line })
        }))
    }

    /// Returns the arguments of the product of the matrices at these addresses, as cuBLAS has them.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the objects do not fit each other, `NOT_SUPPORTED` for what is not
    /// computed here.
    pub(super) fn arguments(
        &self,
        [a, b, c, d]: [*const c_void; 4],
        scalars: [*const c_void; 2],
    ) -> Result<Arguments, Status> {
        let of = |number| self.product.code(number);
        let operations = [of(CUBLASLT_MATMUL_DESC_TRANSA), of(CUBLASLT_MATMUL_DESC_TRANSB)];
        let ([m, k], [of_b, n]) = (self.shape(0, operations[0]), self.shape(1, operations[1]));
        let counts = self.matrices.each_ref().map(|matrix| matrix.count(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
        let fits = of_b == k && [2, 3].iter().all(|&at| self.shape(at, CUBLAS_OP_N) == [m, n]);
        if !fits || counts.iter().any(|count| *count != counts[0]) {
            return Err(INVALID_VALUE);
        }
        let is_plain = of(CUBLASLT_MATMUL_DESC_TRANSC) == CUBLAS_OP_N
            && of(CUBLASLT_MATMUL_DESC_EPILOGUE) == CUBLASLT_EPILOGUE_DEFAULT
            && self.matrices.iter().all(|matrix| matrix.code(CUBLASLT_MATRIX_LAYOUT_ORDER) == CUBLASLT_ORDER_COL);
        let compute = of(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
        // Bytes are multiplied as transposed A by B, with sizes that are multiples of four.
        let are_bytes = matches!(compute, CUBLAS_COMPUTE_32I | CUBLAS_COMPUTE_32I_PEDANTIC);
        let fits_bytes = operations == [CUBLAS_OP_T, CUBLAS_OP_N] && m % 4 == 0 && k % 4 == 0;
        let [a, b] = [self.operand(0, a), self.operand(1, b)];
        let [c, d] = [self.operand(2, c), self.operand(3, d)];
        if !is_plain || (are_bytes && !fits_bytes) || c.datatype != d.datatype {
            return Err(NOT_SUPPORTED);
        }
        let is_f8 = |operand: &Operand| matches!(operand.datatype, CUDA_R_8F_E4M3 | CUDA_R_8F_E5M2);
        // f8 is multiplied as transposed A by B, of columns at multiples of 16 bytes, with scales.
        let fits_f8 = operations == [CUBLAS_OP_T, CUBLAS_OP_N] && m % 16 == 0 && k % 16 == 0;
        let are_aligned = [&a, &b].iter().all(|x| x.pointer.addr() % 16 == 0 && x.leading % 16 == 0);
        if is_f8(&a) && !(fits_f8 && are_aligned && d.pointer.addr() % 16 == 0) {
            return Err(NOT_SUPPORTED);
        }
        let scales = if is_f8(&a) { self.scales()? } else { [None; 2] };
        Ok(Arguments {
            operations,
            sizes: [m, n, k],
            scalars,
            a,
            b,
            scales,
            c,
            d: Some(d),
            count: counts[0],
            compute,
            algorithm: CUBLAS_GEMM_DEFAULT,
        })
    }
}
