//! A product as its objects describe it, and what hipBLASLt requires of it.

use crate::objects::{of_matrix, of_product};
use crate::types::*;
use half::{bf16, f16};
use isobit_simgpu_library_common::attributes::Values;
use isobit_simgpu_math::gemm::{Batch, Dimensions, Form, Kernel, Matrix, Product, Scale, kernel, mixed};
use isobit_simgpu_math::number::{F8E4M3, F8E5M2, Input};
use std::ffi::{c_int, c_void};

/// The objects of a product: its description, and those of A, B, C and D.
pub(crate) type Objects = [*mut c_void; 5];

/// A product without addresses, and what computes it.
#[derive(Debug)]
pub(crate) struct Description {
    product: Values,
    matrices: [Values; 4],
    dimensions: Dimensions,
    count: i64,
    pub(crate) kernel: Kernel,
}

impl Description {
    /// # Errors
    /// `INVALID_VALUE` if the objects do not fit each other, `NOT_SUPPORTED` for what is not
    /// computed here.
    pub(crate) fn of([product, a, b, c, d]: Objects) -> Result<Self, Status> {
        let product = of_product(product)?;
        let matrices = [of_matrix(a)?, of_matrix(b)?, of_matrix(c)?, of_matrix(d)?];
        let forms = [HIPBLASLT_MATMUL_DESC_TRANSA, HIPBLASLT_MATMUL_DESC_TRANSB].map(|at| form(product.code(at)));
        let [Some(of_a), Some(of_b)] = forms else { return Err(HIPBLAS_STATUS_INVALID_VALUE) };
        let [[m, k], [k_of_b, n], of_c, of_d] =
            [(0, of_a), (1, of_b), (2, Form::Plain), (3, Form::Plain)].map(|(at, form)| shape(&matrices[at], form));
        let counts = matrices.each_ref().map(|matrix| matrix.count(HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
        let dimensions = Dimensions { sizes: [m, n, k], forms: [of_a, of_b] };
        let fits = k_of_b == k && [of_c, of_d] == [[m, n]; 2] && counts == [counts[0]; 4] && dimensions.are_sizes();
        let [rows_of_a, rows_of_b, rows] = dimensions.rows();
        let is_wide = |(matrix, rows): (&Values, i64)| matrix.count(HIPBLASLT_MATRIX_LAYOUT_LD) >= rows.max(1);
        if !fits || counts[0] < 1 || !matrices.iter().zip([rows_of_a, rows_of_b, rows, rows]).all(is_wide) {
            return Err(HIPBLAS_STATUS_INVALID_VALUE);
        }
        let types = matrices.each_ref().map(|matrix| matrix.code(HIPBLASLT_MATRIX_LAYOUT_TYPE));
        let is_plain = product.code(HIPBLASLT_MATMUL_DESC_EPILOGUE) == HIPBLASLT_EPILOGUE_DEFAULT
            && product.code(HIPBLASLT_MATMUL_DESC_POINTER_MODE) == HIPBLASLT_POINTER_MODE_HOST
            && [HIPBLASLT_MATMUL_DESC_C_SCALE_POINTER, HIPBLASLT_MATMUL_DESC_D_SCALE_POINTER]
                .iter()
                .all(|&pointer| product.bits(pointer) == 0)
            && matrices.iter().all(|matrix| matrix.code(HIPBLASLT_MATRIX_LAYOUT_ORDER) == HIPBLASLT_ORDER_COL);
        let kernel = kernel_for(types, product.code(COMPUTE_TYPE), product.code(SCALE_TYPE));
        let kernel = kernel.filter(|_| is_plain).ok_or(HIPBLAS_STATUS_NOT_SUPPORTED)?;
        let description = Self { product, matrices, dimensions, count: counts[0], kernel };
        description.scales(types[0])?;
        Ok(description)
    }

    /// Returns the scales of A and B; without an address there is none.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if one operand has them by lines and the other has not, or for other modes;
    /// `INVALID_VALUE` if the operands are not of f8.
    fn scales(&self, of_a: c_int) -> Result<[Option<Scale>; 2], Status> {
        let modes = [HIPBLASLT_MATMUL_DESC_A_SCALE_MODE, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE];
        let by_line = match modes.map(|mode| self.product.code(mode)) {
            [HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F] => false,
            [HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F, HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F] => true,
            _ => return Err(HIPBLAS_STATUS_NOT_SUPPORTED),
        };
        let pointers = [HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER, HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER];
        let scales = pointers.map(|pointer| {
            let address = self.product.bits(pointer) as usize;
            (address != 0).then_some(Scale { address, by_line })
        });
        let is_f8 = matches!(of_a, HIP_R_8F_E4M3 | HIP_R_8F_E5M2);
        if is_f8 || scales.iter().all(Option::is_none) { Ok(scales) } else { Err(HIPBLAS_STATUS_INVALID_VALUE) }
    }

    /// Returns the product of the matrices at these addresses; `None` if its result has no
    /// elements.
    ///
    /// # Errors
    /// `INVALID_VALUE` if an address is null.
    pub(crate) fn at(&self, addresses: [*const c_void; 4], what: &'static str) -> Result<Option<Product>, Status> {
        if addresses.iter().any(|address| address.is_null()) {
            return Err(HIPBLAS_STATUS_INVALID_VALUE);
        }
        if self.dimensions.is_empty() {
            return Ok(None);
        }
        let size = |n: i64| usize::try_from(n).unwrap_or_default();
        let matrix = |at: usize, form| Matrix {
            // The queued work refers to the memory by its address.
            address: addresses[at].expose_provenance(),
            leading: size(self.matrices[at].count(HIPBLASLT_MATRIX_LAYOUT_LD)),
            batch: Batch::Strided(self.matrices[at].count(HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)),
            form,
        };
        let [of_a, of_b] = self.dimensions.forms;
        Ok(Some(Product {
            what,
            sizes: self.dimensions.sizes.map(size),
            batch: size(self.count),
            a: matrix(0, of_a),
            b: matrix(1, of_b),
            c: matrix(2, Form::Plain),
            d: matrix(3, Form::Plain),
            d_name: "D",
            scales: self.scales(self.matrices[0].code(HIPBLASLT_MATRIX_LAYOUT_TYPE))?,
        }))
    }
}

fn form(operation: c_int) -> Option<Form> {
    match operation {
        HIPBLAS_OP_N => Some(Form::Plain),
        HIPBLAS_OP_T => Some(Form::Transposed),
        HIPBLAS_OP_C => Some(Form::ConjugateTransposed),
        _ => None,
    }
}

/// Rows and columns of a matrix as it is used.
fn shape(matrix: &Values, form: Form) -> [i64; 2] {
    let shape = [HIPBLASLT_MATRIX_LAYOUT_ROWS, HIPBLASLT_MATRIX_LAYOUT_COLS].map(|at| matrix.count(at));
    if form == Form::Plain { shape } else { [shape[1], shape[0]] }
}

/// Returns the kernel for the types of A, B, C and D and of the computation; `None` if AMD does not
/// list the combination: <https://rocm.docs.amd.com/projects/hipBLASLt/en/latest/reference/data-type-support.html>.
fn kernel_for([a, b, c, d]: [c_int; 4], compute: c_int, scale: c_int) -> Option<Kernel> {
    match (compute, scale) {
        (HIPBLAS_COMPUTE_32F, HIP_R_32F) if c == d => match (a, b) {
            (HIP_R_8F_E4M3, HIP_R_8F_E4M3) => of_f8::<F8E4M3, F8E4M3>(d),
            (HIP_R_8F_E4M3, HIP_R_8F_E5M2) => of_f8::<F8E4M3, F8E5M2>(d),
            (HIP_R_8F_E5M2, HIP_R_8F_E4M3) => of_f8::<F8E5M2, F8E4M3>(d),
            (HIP_R_8F_E5M2, HIP_R_8F_E5M2) => of_f8::<F8E5M2, F8E5M2>(d),
            _ if a != b => None,
            _ => match (a, d) {
                (HIP_R_32F, HIP_R_32F) => Some(kernel::<f32, f32, f32>()),
                (HIP_R_16F, HIP_R_16F) => Some(kernel::<f16, f16, f32>()),
                (HIP_R_16BF, HIP_R_16BF) => Some(kernel::<bf16, bf16, f32>()),
                _ => None,
            },
        },
        (HIPBLAS_COMPUTE_32I, HIP_R_32I) if [a, b, c, d] == [HIP_R_8I, HIP_R_8I, HIP_R_32I, HIP_R_32I] => {
            Some(kernel::<i8, i32, i32>())
        }
        _ => None,
    }
}

fn of_f8<A: Input<f32>, B: Input<f32>>(result: c_int) -> Option<Kernel> {
    match result {
        HIP_R_16F => Some(mixed::<A, B, f16, f32>()),
        HIP_R_16BF => Some(mixed::<A, B, bf16, f32>()),
        HIP_R_32F => Some(mixed::<A, B, f32, f32>()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_listed_have_a_kernel() {
        let [f8, bf8] = [HIP_R_8F_E4M3, HIP_R_8F_E5M2];
        for (types, compute, scale, is_listed) in [
            ([f8, bf8, HIP_R_16BF, HIP_R_16BF], HIPBLAS_COMPUTE_32F, HIP_R_32F, true),
            ([bf8, bf8, HIP_R_32F, HIP_R_32F], HIPBLAS_COMPUTE_32F, HIP_R_32F, true),
            ([f8, f8, HIP_R_16F, HIP_R_32F], HIPBLAS_COMPUTE_32F, HIP_R_32F, false),
            ([f8, HIP_R_16F, HIP_R_32F, HIP_R_32F], HIPBLAS_COMPUTE_32F, HIP_R_32F, false),
            ([f8, f8, HIP_R_32F, HIP_R_32F], HIPBLAS_COMPUTE_32I, HIP_R_32I, false),
            // The formats of gfx942 are others.
            ([1000, 1000, HIP_R_32F, HIP_R_32F], HIPBLAS_COMPUTE_32F, HIP_R_32F, false),
            ([HIP_R_16F; 4], HIPBLAS_COMPUTE_32F, HIP_R_32F, true),
            ([HIP_R_8I, HIP_R_8I, HIP_R_32I, HIP_R_32I], HIPBLAS_COMPUTE_32I, HIP_R_32I, true),
        ] {
            assert_eq!(kernel_for(types, compute, scale).is_some(), is_listed, "{types:?} {compute} {scale}");
        }
    }
}
