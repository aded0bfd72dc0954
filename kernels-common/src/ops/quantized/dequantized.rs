//! Products with many rows of float activations: dequantizes strips of the matrix to f32 and
//! multiplies them with the f32 matmul of the same numerics, which has the same results.

use super::convert::{self, Blocks};
use super::dense::Rows;
use crate::launch::sizes;
use crate::ops::{cast, matmul};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GgmlDType, Layout, Matmul, Numerics, Op, Result, Src};

/// The f32 products that are used.
pub(super) const CHAINS: Op = Op::Matmul(Matmul::with_numerics(Numerics::Portable));
pub(super) const BLOCKS: Op = Op::Matmul(Matmul::with_numerics(Numerics::Block));

/// Computes `y = x w^T` by one of these products, with m rows of k activations and n rows of
/// blocks. None of m, n and k is 0.
pub(super) fn multiply<R: GpuRuntime>(
    matmul: &Op,
    format: GgmlDType,
    w: &Rows<R>,
    (x, x_layout): (&GpuStorage<R>, &Layout),
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
    [m, n, k]: [usize; 3],
) -> Result<()> {
    let device = x.device();
    let narrow = x.dtype() != DType::F32;
    let flat = |layout: &Layout, columns| Layout::contiguous_with_offset([m, columns], layout.start_offset());
    let widened = if narrow || !x_layout.is_contiguous() {
        let mut wide = device.alloc(m * k, DType::F32)?;
        let layout = Layout::contiguous(x_layout.shape());
        cast::apply_into(&Op::Cast, &[Src::Storage(x, x_layout)], &mut wide, &layout)?;
        Some(wide)
    } else {
        None
    };
    let (x, x_layout) = match &widened {
        Some(wide) => (wide, Layout::contiguous([m, k])),
        None => (x, flat(x_layout, k)),
    };
    // A strip stays in the GPU's cache until chains have read it. Block products pack it first, so
    // that they read it once, and want enough results to fill the GPU.
    let size = if *matmul == BLOCKS { &sizes::QUANTIZED_PACKED_STRIP } else { &sizes::QUANTIZED_STRIP };
    let rows = (size.limit(n.saturating_mul(k)) / k).clamp(1, n);
    let strip = device.alloc(rows * k, DType::F32)?;
    let strips = |y: &mut GpuStorage<R>, y_layout: &Layout| -> Result<()> {
        for first in (0..n).step_by(rows) {
            let rows = (n - first).min(rows);
            let ptr = w.ptr.at(DType::U8, first * w.row);
            let blocks = Blocks { format, ptr, row: w.row, rows, elements: k };
            // SAFETY: the rows belong to a validated matrix, and the strip has space for all their
            // elements.
            unsafe { convert::dequantize(device, &blocks, DType::F32, strip.ptr())? };
            let w_layout = Layout::contiguous([rows, k]).transpose(0, 1)?;
            let operands = [Src::Storage(x, &x_layout), Src::Storage(&strip, &w_layout)];
            matmul::apply_into(matmul, &operands, y, &y_layout.narrow(1, first, rows)?)?;
        }
        Ok(())
    };
    if !narrow && dst_layout.is_contiguous() {
        return strips(dst, &flat(dst_layout, n));
    }
    let mut wide = device.alloc(m * n, DType::F32)?;
    strips(&mut wide, &Layout::contiguous([m, n]))?;
    cast::apply_into(&Op::Cast, &[Src::Storage(&wide, &Layout::contiguous(dst_layout.shape()))], dst, dst_layout)
}
