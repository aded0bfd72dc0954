//! Products as both vendors' libraries of planned products describe them.

use crate::vendor::gemm::{BlasGemm, BlasOperand};
use isobit_hal::DType;
use std::ffi::c_void;

/// A product of bytes into i32, or of f8 with scales, without the addresses of its matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LtProduct {
    m: u64,
    n: u64,
    k: u64,
    /// The number of matrices in the batch.
    pub batch: i32,
    /// `a`, `b` and `c`.
    pub operands: [LtOperand; 3],
    dtypes: [DType; 3],
    /// Whether lines of f8 have scales, or the whole operands.
    pub scales_by_line: Option<bool>,
}

/// A matrix of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LtOperand {
    /// Whether the operand is the transpose of the matrix in memory.
    pub transposed: bool,
    /// The distance between columns of the matrix in memory, in elements.
    pub leading: i64,
    /// The distance between matrices of the batch, in elements.
    pub batch_stride: i64,
    /// The largest power of two, up to [`MOST_ALIGNED`], of which the address is a multiple:
    /// kernels differ in what they require.
    pub alignment: u32,
}

/// What the libraries assume if they are not told.
const MOST_ALIGNED: usize = 256;

impl LtOperand {
    fn of(operand: &BlasOperand) -> Self {
        Self {
            transposed: operand.transposed,
            leading: operand.leading.into(),
            batch_stride: operand.batch_stride,
            alignment: 1 << (operand.ptr.addr() | MOST_ALIGNED).trailing_zeros(),
        }
    }
}

impl LtProduct {
    /// Returns what a call computes.
    pub fn of(call: &BlasGemm) -> Self {
        let size = |n: i32| u64::try_from(n).unwrap_or_default();
        let operands = [&call.a, &call.b, &call.c].map(LtOperand::of);
        let dtypes = call.scaled.map_or([DType::I8, DType::I8, DType::I32], |scaled| scaled.dtypes);
        let scales_by_line = call.scaled.map(|scaled| scaled.scales[0].by_line);
        let (m, n, k) = (size(call.m), size(call.n), size(call.k));
        Self { m, n, k, batch: call.batch, operands, dtypes, scales_by_line }
    }

    /// Returns the dtype of each matrix, and its rows and columns as it is in memory.
    pub fn matrices(&self) -> [(DType, u64, u64); 3] {
        let shapes = [(self.m, self.k), (self.k, self.n), (self.m, self.n)];
        [0, 1, 2].map(|at| {
            let (rows, columns) = shapes[at];
            let (rows, columns) = if self.operands[at].transposed { (columns, rows) } else { (rows, columns) };
            (self.dtypes[at], rows, columns)
        })
    }
}

impl BlasGemm {
    /// Returns the addresses of the scales of `a` and `b` of a product of f8.
    pub fn scales(&self) -> Option<[*const c_void; 2]> {
        self.scaled.map(|scaled| scaled.scales.map(|scale| scale.ptr.0 as *const c_void))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_described_as_they_lie_in_memory() {
        let operand = |at: usize, transposed, leading| BlasOperand {
            ptr: at as *const c_void,
            transposed,
            leading,
            batch_stride: 7,
        };
        let [a, b, c] = [operand(0x110, true, 48), operand(0x1000, false, 64), operand(0x104, false, 32)];
        let product = LtProduct::of(&BlasGemm { m: 32, n: 5, k: 40, batch: 3, a, b, c, scaled: None });
        assert_eq!(product.matrices(), [(DType::I8, 40, 32), (DType::I8, 40, 5), (DType::I32, 32, 5)]);
        assert_eq!(product.operands.map(|operand| operand.alignment), [16, 256, 4]);
        assert_eq!((product.batch, product.scales_by_line), (3, None));
    }
}
