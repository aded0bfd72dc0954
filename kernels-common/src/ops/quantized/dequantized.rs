//! Products with many rows of float activations as chains: dequantizes strips of the matrix to f32
//! and multiplies them with the portable matmul, which has the same order of sums. A strip stays in
//! the GPU's cache between the two steps.

use super::convert::{self, Blocks};
use super::floats::Floats;
use crate::launch::sizes;
use crate::ops::dense::Rows;
use crate::ops::matmul;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Matmul, Numerics, Op, Result, Src};

/// The f32 product that is used.
pub(super) const MATMUL: Op = Op::Matmul(Matmul::with_numerics(Numerics::Portable));

/// Computes `y = x w^T` with rows of k activations and n rows of blocks. None of them is 0.
pub(super) fn multiply<R: GpuRuntime>(
    format: GgmlDType,
    w: &Rows<R>,
    x: &Floats<'_, R>,
    y: &mut GpuStorage<R>,
    y_layout: &Layout,
) -> Result<()> {
    let (n, k) = (y_layout.dims()[1], x.layout.dims()[1]);
    let device = x.storage().device();
    let rows = (sizes::QUANTIZED_STRIP.limit(n.saturating_mul(k)) / k).clamp(1, n);
    let strip = device.alloc(rows * k, DType::F32)?;
    for first in (0..n).step_by(rows) {
        let rows = (n - first).min(rows);
        let ptr = w.ptr.at(DType::U8, first * w.row);
        let blocks = Blocks { format, ptr, row: w.row, rows, elements: k };
        // SAFETY: the rows belong to a validated matrix, and the strip has space for all their
        // elements.
        unsafe { convert::dequantize(device, &blocks, DType::F32, strip.ptr())? };
        let w_layout = Layout::contiguous([rows, k]).transpose(0, 1)?;
        let operands = [Src::Storage(x.storage(), &x.layout), Src::Storage(&strip, &w_layout)];
        matmul::apply_into(&MATMUL, &operands, y, &y_layout.narrow(1, first, rows)?)?;
    }
    Ok(())
}
