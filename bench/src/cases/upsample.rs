//! Upsampling.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src, UpsampleBilinear2d, UpsampleNearest2d};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let [n, c, h, w] = [32, 128, 56, 56];
    let size = [2 * h, 2 * w];
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (name, op) in [
            ("upsample_nearest2d", Op::UpsampleNearest2d(UpsampleNearest2d::new(size))),
            ("upsample_bilinear2d", Op::UpsampleBilinear2d(UpsampleBilinear2d::new(size))),
        ] {
            if rows.wants(name, dtype) {
                let (from, to) = (&Layout::contiguous([n, c, h, w]), &Layout::contiguous([n, c, size[0], size[1]]));
                let src = &rows.bench.random(from.elem_count(), dtype)?;
                let dst = &mut rows.bench.output(to.elem_count(), dtype)?;
                let bytes = (from.elem_count() + to.elem_count()) * dtype.size_in_bytes();
                let call = Box::new(|| GpuStorage::apply_into(&op, &[Src::Storage(src, from)], dst, to));
                rows.add(name, dtype, "32x128x56x56 x2", bytes, call)?;
            }
        }
    }
    Ok(())
}
