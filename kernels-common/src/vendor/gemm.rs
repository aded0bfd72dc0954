//! Batched products in the form of both vendors' column-major BLAS libraries.

use crate::runtime::{Gemm, Matrix, ScaledGemm};
use isobit_hal::DType;
use std::ffi::c_void;

/// One operand: a column-major matrix with a leading dimension, or the transpose of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlasOperand {
    /// The address of the first element.
    pub ptr: *const c_void,
    /// Whether the operand is the transpose of the matrix in memory.
    pub transposed: bool,
    /// The distance between columns of the matrix in memory, in elements.
    pub leading: i32,
    /// The distance between matrices of the batch, in elements.
    pub batch_stride: i64,
}

/// The arguments of one call, `c = a b` in column-major terms; `c` is never transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlasGemm {
    /// The number of rows of `a` and `c`.
    pub m: i32,
    /// The number of columns of `b` and `c`.
    pub n: i32,
    /// The number of columns of `a` and rows of `b`.
    pub k: i32,
    /// The number of matrices in the batch.
    pub batch: i32,
    /// The left operand.
    pub a: BlasOperand,
    /// The right operand.
    pub b: BlasOperand,
    /// The result.
    pub c: BlasOperand,
    /// The dtypes and scales of a product of f8.
    pub scaled: Option<ScaledGemm>,
}

/// Returns the host addresses of alpha and beta for `c = a b`, which are one and zero in the type
/// that products of this dtype are computed in.
pub fn one_and_zero(dtype: DType) -> [*const c_void; 2] {
    static IN_F32: [f32; 2] = [1.0, 0.0];
    static IN_F64: [f64; 2] = [1.0, 0.0];
    static IN_I32: [i32; 2] = [1, 0];
    match dtype {
        DType::I8 => IN_I32.each_ref().map(|x| std::ptr::from_ref(x).cast()),
        DType::F64 => IN_F64.each_ref().map(|x| std::ptr::from_ref(x).cast()),
        _ => IN_F32.each_ref().map(|x| std::ptr::from_ref(x).cast()),
    }
}

fn transposed(x: Matrix) -> Matrix {
    Matrix { row_stride: x.col_stride, col_stride: x.row_stride, ..x }
}

impl BlasGemm {
    /// # Errors
    /// Returns a human-readable reason if the library does not support the product.
    pub fn of(p: &Gemm) -> Result<Self, &'static str> {
        // A row-major product is the column-major product of the transposes in reverse order.
        let of_transposes = || {
            let call = Self::column_major(p, p.n, p.m, [transposed(p.b), transposed(p.a), transposed(p.c)])?;
            Some(Self { scaled: p.scaled.map(ScaledGemm::exchanged), ..call })
        };
        let direct = Self::column_major(p, p.m, p.n, [p.a, p.b, p.c]);
        if let Some(ScaledGemm { dtypes: [.., of_c], .. }) = p.scaled {
            return direct
                .filter(|call| call.is_of_f8(of_c))
                .or_else(|| of_transposes().filter(|call| call.is_of_f8(of_c)))
                .ok_or(
                    "multiplies f8 of which lines lie along k, in steps of 16 bytes, as the lines of the result do",
                );
        }
        let call = direct
            .or_else(of_transposes)
            .ok_or("does not support operands with two strides above 1, or sizes above 2^31")?;
        if p.dtype == DType::I8 && ![call.a, call.b].iter().all(BlasOperand::is_of_words) {
            return Err("reads bytes four at a time, so lines of i8 must begin at multiples of four bytes");
        }
        Ok(call)
    }

    fn column_major(p: &Gemm, m: usize, n: usize, [a, b, c]: [Matrix; 3]) -> Option<Self> {
        let c = BlasOperand::of(c, m, n).filter(|c| !c.transposed)?;
        let (a, b) = (BlasOperand::of(a, m, p.k)?, BlasOperand::of(b, p.k, n)?);
        let size = |n: usize| i32::try_from(n).ok();
        Some(Self { m: size(m)?, n: size(n)?, k: size(p.k)?, batch: size(p.batch)?, a, b, c, scaled: p.scaled })
    }

    /// Whether this is a product of f8 as the libraries take it: the transpose of a matrix by a
    /// matrix, with columns at multiples of 16 bytes.
    fn is_of_f8(&self, of_c: DType) -> bool {
        let fits = |x: &BlasOperand, bytes: usize| {
            x.ptr.addr().is_multiple_of(16) && (x.leading as usize * bytes).is_multiple_of(16)
        };
        let sizes = self.m % 16 == 0 && self.k % 16 == 0;
        let form = self.a.transposed && !self.b.transposed;
        form && sizes && fits(&self.a, 1) && fits(&self.b, 1) && fits(&self.c, of_c.size_in_bytes())
    }
}

impl BlasOperand {
    fn of(x: Matrix, rows: usize, cols: usize) -> Option<Self> {
        // The stride of a dimension of size 1 is never used, so any value will do.
        let (transposed, leading) = if (x.row_stride == 1 || rows == 1) && (x.col_stride >= rows || cols == 1) {
            (false, if cols == 1 { rows } else { x.col_stride })
        } else if (x.col_stride == 1 || cols == 1) && (x.row_stride >= cols || rows == 1) {
            (true, if rows == 1 { cols } else { x.row_stride })
        } else {
            return None;
        };
        Some(Self {
            ptr: x.ptr.0 as *const c_void,
            transposed,
            leading: i32::try_from(leading).ok()?,
            batch_stride: i64::try_from(x.batch_stride).ok()?,
        })
    }

    fn is_of_words(&self) -> bool {
        self.ptr.addr().is_multiple_of(4) && self.leading % 4 == 0 && self.batch_stride % 4 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{DevicePtr, GemmScale};

    /// Does what a column-major BLAS does with the arguments, on buffers of small integers.
    fn blas(call: &BlasGemm, a: &[i64], b: &[i64], c: &mut [i64]) {
        let at = |x: &BlasOperand, batch: i32, row: i32, col: i32| -> usize {
            let (r, c) = if x.transposed { (col, row) } else { (row, col) };
            (i64::from(batch) * x.batch_stride + i64::from(c) * i64::from(x.leading) + i64::from(r)) as usize
        };
        for batch in 0..call.batch {
            for (i, j) in (0..call.m).flat_map(|i| (0..call.n).map(move |j| (i, j))) {
                // The operands may have been exchanged; their addresses, 1 and 2, identify them.
                let buffer = |x: &BlasOperand| if x.ptr as usize == 1 { a } else { b };
                let product = |k| buffer(&call.a)[at(&call.a, batch, i, k)] * buffer(&call.b)[at(&call.b, batch, k, j)];
                c[at(&call.c, batch, i, j)] = (0..call.k).map(product).sum();
            }
        }
    }

    fn matrix(ptr: u64, row_stride: usize, col_stride: usize, batch_stride: usize) -> Matrix {
        Matrix { ptr: DevicePtr(ptr), row_stride, col_stride, batch_stride }
    }

    #[test]
    fn every_layout_that_fits_gives_the_product() {
        let (batch, m, n, k) = (2, 3, 4, 5);
        let values = |len: usize, salt: i64| (0..len as i64).map(|i| (i * 7 + salt) % 11 - 5).collect::<Vec<_>>();
        for (sizes, padding) in
            [((m, n, k), 0), ((m, n, k), 3), ((1, n, k), 0), ((m, 1, k), 2), ((m, n, 1), 0), ((1, 1, 1), 0)]
        {
            let (m, n, k) = sizes;
            let layouts = |ptr, rows: usize, cols: usize| {
                let (by_row, by_col) = (cols + padding, rows + padding);
                [matrix(ptr, by_row, 1, rows * by_row), matrix(ptr, 1, by_col, cols * by_col)]
            };
            for (a, b, c) in layouts(1, m, k)
                .into_iter()
                .flat_map(|a| layouts(2, k, n).map(|b| (a, b)))
                .flat_map(|(a, b)| layouts(3, m, n).map(|c| (a, b, c)))
            {
                let (xs, ys) = (values(500, 1), values(500, 4));
                let mut got = vec![0; 500];
                let call = BlasGemm::of(&Gemm { dtype: DType::F32, scaled: None, batch, m, n, k, a, b, c }).unwrap();
                assert!(!call.c.transposed);
                blas(&call, &xs, &ys, &mut got);
                let at =
                    |x: &Matrix, b: usize, i: usize, j: usize| b * x.batch_stride + i * x.row_stride + j * x.col_stride;
                for (z, i, j) in (0..batch).flat_map(|z| (0..m).flat_map(move |i| (0..n).map(move |j| (z, i, j)))) {
                    let want: i64 = (0..k).map(|l| xs[at(&a, z, i, l)] * ys[at(&b, z, l, j)]).sum();
                    assert_eq!(got[at(&c, z, i, j)], want, "{call:?}");
                }
            }
        }
    }

    #[test]
    fn what_no_blas_takes_is_declined() {
        let (a, b, c) = (matrix(1, 5, 1, 0), matrix(2, 4, 1, 0), matrix(3, 4, 1, 12));
        let problem = Gemm { dtype: DType::F32, scaled: None, batch: 1, m: 3, n: 4, k: 5, a, b, c };
        assert!(BlasGemm::of(&problem).is_ok());
        assert!(BlasGemm::of(&Gemm { a: matrix(1, 10, 2, 0), ..problem }).is_err(), "two strides above 1");
        assert!(BlasGemm::of(&Gemm { a: matrix(1, 0, 1, 0), ..problem }).is_err(), "rows that repeat");
        assert!(BlasGemm::of(&Gemm { k: 1 << 31, ..problem }).is_err(), "too large");
        assert!(BlasGemm::of(&Gemm { batch: 1 << 31, ..problem }).is_err(), "too many");
    }

    #[test]
    fn lines_of_bytes_begin_at_words() {
        let (a, b, c) = (matrix(4, 8, 1, 24), matrix(8, 1, 12, 48), matrix(1, 5, 1, 15));
        let problem = Gemm { dtype: DType::I8, scaled: None, batch: 2, m: 3, n: 4, k: 5, a, b, c };
        assert!(BlasGemm::of(&problem).is_ok());
        for odd in [
            Gemm { a: matrix(5, 8, 1, 24), ..problem },
            Gemm { a: matrix(4, 7, 1, 24), ..problem },
            Gemm { b: matrix(8, 1, 12, 50), ..problem },
        ] {
            assert!(BlasGemm::of(&odd).is_err(), "{odd:?}");
            assert!(BlasGemm::of(&Gemm { dtype: DType::F32, ..odd }).is_ok(), "{odd:?}");
        }
    }

    #[test]
    fn products_of_f8_have_lines_along_k() {
        let scale = |ptr, by_line| GemmScale { ptr: DevicePtr(ptr), by_line };
        let dtypes = [DType::F8E4M3, DType::F8E5M2, DType::BF16];
        let scaled = Some(ScaledGemm { dtypes, scales: [scale(4, true), scale(8, true)] });
        let (a, b, c) = (matrix(16, 48, 1, 0), matrix(32, 1, 64, 0), matrix(48, 80, 1, 0));
        let problem = Gemm { dtype: DType::F8E4M3, scaled, batch: 1, m: 5, n: 80, k: 32, a, b, c };
        let call = BlasGemm::of(&problem).unwrap();
        assert_eq!((call.m, call.n, call.a.transposed, call.b.transposed), (80, 5, true, false));
        // The row-major result is the product of the transposes: b comes first.
        assert_eq!(call.scaled, scaled.map(ScaledGemm::exchanged));
        assert_eq!(call.scaled.unwrap().dtypes, [DType::F8E5M2, DType::F8E4M3, DType::BF16]);
        let one_row = Gemm { m: 1, c: matrix(48, 80, 1, 0), ..problem };
        assert_eq!(BlasGemm::of(&one_row).map(|call| call.m), Ok(80));
        for declined in [
            Gemm { b: matrix(32, 80, 1, 0), ..problem },
            Gemm { a: matrix(24, 48, 1, 0), ..problem },
            Gemm { a: matrix(16, 40, 1, 0), ..problem },
            Gemm { n: 79, ..problem },
            Gemm { k: 31, ..problem },
            Gemm { c: matrix(48, 84, 1, 0), ..problem },
            Gemm { c: matrix(52, 80, 1, 0), ..problem },
        ] {
            assert!(BlasGemm::of(&declined).is_err(), "{declined:?}");
        }
    }
}
