//! Scans, and other operations without their own file: clamp, fused additions, triangles.

use super::{MATRIX, Rows};
use isobit_hal::{Activation, BackendStorage, Clamp, DType, Layout, Op, Result, Scan, Src, Triangle};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let m = MATRIX;
    let (matrix, line) = (&Layout::contiguous([m, m]), &Layout::contiguous(m * m));
    let bias_layout = &Layout::contiguous([1, m]).broadcast_as([m, m])?;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let matrix_bytes = m * m * dtype.size_in_bytes();
        for (name, op, layout, work) in [
            ("cumsum_last", Op::Scan(Scan::cumsum(1)), matrix, "8192x8192"),
            ("cumsum_last_reverse", Op::Scan(Scan::cumsum(1).reverse()), matrix, "8192x8192"),
            ("cumsum_first", Op::Scan(Scan::cumsum(0)), matrix, "8192x8192"),
            ("cumsum_first_reverse", Op::Scan(Scan::cumsum(0).reverse()), matrix, "8192x8192"),
            ("cumsum_all", Op::Scan(Scan::cumsum(0)), line, "64Mi"),
            ("cumprod_last", Op::Scan(Scan::cumprod(1)), matrix, "8192x8192"),
            ("cumprod_first", Op::Scan(Scan::cumprod(0)), matrix, "8192x8192"),
            ("cummin_last", Op::Scan(Scan::cummin(1)), matrix, "8192x8192"),
            ("cummax_last", Op::Scan(Scan::cummax(1)), matrix, "8192x8192"),
            ("cummax_first", Op::Scan(Scan::cummax(0)), matrix, "8192x8192"),
            ("tril", Op::Triangle(Triangle::lower(0)), matrix, "8192x8192"),
            ("clamp", Op::Clamp(Clamp::new(-1.0, 1.0)), line, "64Mi"),
        ] {
            if rows.wants(name, dtype) {
                let (src, dst) = (&rows.bench.random(m * m, dtype)?, &mut rows.bench.output(m * m, dtype)?);
                // Half of the matrix need not be read.
                let read = if name == "tril" { matrix_bytes / 2 } else { matrix_bytes };
                let call = Box::new(|| GpuStorage::apply_into(&op, &[Src::Storage(src, layout)], dst, layout));
                rows.add(name, dtype, work, read + matrix_bytes, call)?;
            }
        }
        for &op in Activation::ALL {
            let op = Op::AddActivation(op);
            if rows.wants(op.name(), dtype) {
                let (src, dst) = (&rows.bench.random(m * m, dtype)?, &mut rows.bench.output(m * m, dtype)?);
                let bias = &rows.bench.random(m, dtype)?;
                let inputs = [Src::Storage(src, matrix), Src::Storage(bias, bias_layout)];
                let call = Box::new(|| GpuStorage::apply_into(&op, &inputs, dst, matrix));
                rows.add(op.name(), dtype, "8192x8192+row", 2 * matrix_bytes, call)?;
            }
        }
    }
    Ok(())
}
