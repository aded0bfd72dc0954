//! The arguments of a matrix product, and the checks that NVIDIA documents for them.

use crate::kernel::kernel_for;
use crate::types::*;
use isobit_simgpu_math::gemm::{Batch, Dimensions, Form, Kernel, Scale};
use std::ffi::{c_int, c_void};

/// A column-major matrix as the caller passes it, or a batch of matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) pointer: *const c_void,
    pub(crate) datatype: c_int,
    pub(crate) leading: i64,
    pub(crate) batch: Batch,
}

/// The arguments of a matrix product: those of `cublasGemmStridedBatchedEx` or
/// `cublasGemmBatchedEx`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) operations: [c_int; 2],
    pub(crate) sizes: [i64; 3],
    /// Alpha and beta.
    pub(crate) scalars: [*const c_void; 2],
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    /// What elements of A and B are multiplied by.
    pub(crate) scales: [Option<Scale>; 2],
    pub(crate) c: Operand,
    /// The result, if it is not C.
    pub(crate) d: Option<Operand>,
    pub(crate) count: i64,
    pub(crate) compute: c_int,
    pub(crate) algorithm: c_int,
}

/// Returns the form in which an operation uses a matrix; `None` if the operation does not exist.
pub(crate) fn form(operation: c_int) -> Option<Form> {
    match operation {
        CUBLAS_OP_N => Some(Form::Plain),
        CUBLAS_OP_T => Some(Form::Transposed),
        CUBLAS_OP_C => Some(Form::ConjugateTransposed),
        _ => None,
    }
}

fn is_algorithm(algorithm: c_int) -> bool {
    (CUBLAS_GEMM_DEFAULT..=CUBLAS_GEMM_ALGO23).contains(&algorithm)
        || (CUBLAS_GEMM_DEFAULT_TENSOR_OP..=CUBLAS_GEMM_ALGO15_TENSOR_OP).contains(&algorithm)
        || algorithm == CUBLAS_GEMM_AUTOTUNE
}

impl Arguments {
    pub(crate) fn forms(&self) -> Option<[Form; 2]> {
        Some([form(self.operations[0])?, form(self.operations[1])?])
    }

    pub(crate) fn result(&self) -> Operand {
        self.d.unwrap_or(self.c)
    }

    /// Returns the kernel for the types, or `Ok(None)` if there is nothing to compute.
    pub(crate) fn check(&self) -> Result<Option<Kernel>, Status> {
        let forms = self.forms().ok_or(INVALID_VALUE)?;
        let dimensions = Dimensions { sizes: self.sizes, forms };
        let leading = [self.a, self.b, self.c].map(|operand| operand.leading);
        let too_small = |(leading, rows): (i64, i64)| leading < rows.max(1);
        let is_result = self.result().leading >= self.sizes[0].max(1);
        let fits = is_result && !leading.into_iter().zip(dimensions.rows()).any(too_small);
        if !dimensions.are_sizes() || self.count < 0 || !fits {
            return Err(INVALID_VALUE);
        }
        if self.scalars.iter().any(|scalar| scalar.is_null()) {
            return Err(INVALID_VALUE);
        }
        let kernel = kernel_for(self).filter(|_| is_algorithm(self.algorithm)).ok_or(NOT_SUPPORTED)?;
        if matches!(self.compute, CUBLAS_COMPUTE_32I | CUBLAS_COMPUTE_32I_PEDANTIC)
            && ![self.a, self.b].iter().all(Operand::is_of_words)
        {
            return Err(NOT_SUPPORTED);
        }
        if dimensions.is_empty() || self.count == 0 {
            return Ok(None);
        }
        if self.c.pointer.is_null() || self.result().pointer.is_null() { Err(INVALID_VALUE) } else { Ok(Some(kernel)) }
    }
}

impl Operand {
    /// 8-bit integers are read four at a time, so every column must start at a multiple of 4 bytes.
    /// For a batch behind pointers this depends on those pointers, and is not checked here.
    fn is_of_words(&self) -> bool {
        self.leading % 4 == 0 && (self.batch == Batch::Pointers || self.pointer.addr().is_multiple_of(4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, without_provenance};

    fn operand(address: usize, leading: i64) -> Operand {
        Operand { pointer: without_provenance(address), datatype: CUDA_R_32F, leading, batch: Batch::Strided(0) }
    }

    /// 2 x 3 by 3 x 4.
    fn good() -> Arguments {
        Arguments {
            scales: [None; 2],
            operations: [CUBLAS_OP_N; 2],
            sizes: [2, 4, 3],
            scalars: [without_provenance(8); 2],
            a: operand(0x100, 2),
            b: operand(0x200, 3),
            c: operand(0x300, 2),
            d: None,
            count: 1,
            compute: CUBLAS_COMPUTE_32F,
            algorithm: CUBLAS_GEMM_DEFAULT,
        }
    }

    /// Returns the status, and whether there is something to compute.
    fn checked(arguments: Arguments) -> Result<bool, Status> {
        arguments.check().map(|kernel| kernel.is_some())
    }

    #[test]
    fn sizes_and_leading_dimensions() {
        assert_eq!(checked(good()), Ok(true));
        for at in 0..3 {
            let mut bad = good();
            bad.sizes[at] = -1;
            assert_eq!(checked(bad), Err(INVALID_VALUE), "size {at}");
        }
        for bad in [
            Arguments { count: -1, ..good() },
            Arguments { a: operand(0x100, 1), ..good() },
            Arguments { b: operand(0x200, 2), ..good() },
            Arguments { c: operand(0x300, 1), ..good() },
            // max(1, m)
            Arguments { sizes: [0, 4, 3], c: operand(0x300, 0), ..good() },
            Arguments { operations: [CUBLAS_OP_N, 3], ..good() },
            Arguments { operations: [-1, CUBLAS_OP_N], ..good() },
        ] {
            assert_eq!(checked(bad), Err(INVALID_VALUE), "{bad:?}");
        }
        // Transposed, A has k rows and B has n rows.
        let transposed = Arguments { operations: [CUBLAS_OP_T, CUBLAS_OP_C], ..good() };
        assert_eq!(checked(transposed), Err(INVALID_VALUE));
        let transposed = Arguments { a: operand(0x100, 3), b: operand(0x200, 4), ..transposed };
        assert_eq!(checked(transposed), Ok(true));
    }

    #[test]
    fn nothing_to_do_needs_no_matrices() {
        let none = Arguments { a: operand(0, 2), b: operand(0, 3), c: operand(0, 2), ..good() };
        for empty in [
            Arguments { sizes: [0, 4, 3], ..none },
            Arguments { sizes: [2, 0, 3], ..none },
            Arguments { count: 0, ..none },
        ] {
            assert_eq!(checked(empty), Ok(false), "{empty:?}");
        }
        // An empty sum still needs work: C is scaled by beta.
        let empty_sum = Arguments { sizes: [2, 4, 0], ..none };
        assert_eq!(checked(empty_sum), Err(INVALID_VALUE));
        assert_eq!(checked(Arguments { c: operand(0x300, 2), ..empty_sum }), Ok(true));
        for at in 0..2 {
            let mut bad = good();
            bad.scalars[at] = null();
            assert_eq!(checked(bad), Err(INVALID_VALUE), "scalar {at}");
        }
    }

    #[test]
    fn algorithms_that_there_are() {
        for algorithm in [-1, 0, 23, 99, 115, 999] {
            assert_eq!(checked(Arguments { algorithm, ..good() }), Ok(true), "{algorithm}");
        }
        for algorithm in [-2, 24, 98, 116, 1000] {
            assert_eq!(checked(Arguments { algorithm, ..good() }), Err(NOT_SUPPORTED), "{algorithm}");
        }
    }

    #[test]
    fn bytes_are_multiplied_four_at_a_time() {
        let bytes = |address, leading| Operand { datatype: CUDA_R_8I, ..operand(address, leading) };
        let words = Arguments {
            a: bytes(0x100, 4),
            b: bytes(0x200, 8),
            c: Operand { datatype: CUDA_R_32I, ..operand(0x302, 3) },
            compute: CUBLAS_COMPUTE_32I,
            ..good()
        };
        assert_eq!(checked(words), Ok(true));
        for bad in [
            Arguments { a: bytes(0x102, 4), ..words },
            Arguments { b: bytes(0x201, 8), ..words },
            Arguments { a: bytes(0x100, 6), ..words },
            Arguments { b: bytes(0x200, 5), compute: CUBLAS_COMPUTE_32I_PEDANTIC, ..words },
        ] {
            assert_eq!(checked(bad), Err(NOT_SUPPORTED), "{bad:?}");
        }
        let behind = Operand { batch: Batch::Pointers, ..bytes(0x102, 4) };
        assert_eq!(checked(Arguments { a: behind, ..words }), Ok(true));
        // If the sum is computed in f32, alignment does not matter.
        let c = operand(0x300, 2);
        let single = Arguments { a: bytes(0x101, 2), b: bytes(0x203, 3), c, compute: CUBLAS_COMPUTE_32F, ..words };
        assert_eq!(checked(single), Ok(true));
    }
}
