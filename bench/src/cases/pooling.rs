//! Pooling.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Op, Pool2d, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let [n, c, h, w] = [32, 128, 112, 112];
    let (twos, threes) = (Pool2d::new([2, 2]), Pool2d::new([3, 3]).with_stride([2, 2]).with_padding([1, 1]));
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (name, op, work) in [
            ("avg_pool2d", Op::AvgPool2d(twos), "32x128x112x112 2x2"),
            ("max_pool2d", Op::MaxPool2d(twos), "32x128x112x112 2x2"),
            ("max_pool2d_k3s2p1", Op::MaxPool2d(threes), "32x128x112x112 3x3"),
        ] {
            if rows.wants(name, dtype) {
                let (from, to) = (&Layout::contiguous([n, c, h, w]), &Layout::contiguous([n, c, h / 2, w / 2]));
                let src = &rows.bench.random(from.elem_count(), dtype)?;
                let dst = &mut rows.bench.output(to.elem_count(), dtype)?;
                let bytes = (from.elem_count() + to.elem_count()) * dtype.size_in_bytes();
                let call = Box::new(|| GpuStorage::apply_into(&op, &[Src::Storage(src, from)], dst, to));
                rows.add(name, dtype, work, bytes, call)?;
            }
        }
    }
    Ok(())
}
