//! Resizing, as frameworks call it.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Interpolation, Layout, NearestMode, Op, Resize, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    use Interpolation::{Cubic, Linear, Nearest};
    let (small, large): (&[usize], &[usize]) = (&[32, 128, 56, 56], &[32, 128, 112, 112]);
    let smooth = |mode| Resize::new(&small[2..], mode).with_antialias(true).with_exclude_outside(true);
    let exact = Resize::new(&large[2..], Nearest).with_nearest(NearestMode::RoundPreferCeil);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (name, op, dims, workload) in [
            ("resize_bicubic", Resize::new(&large[2..], Cubic), small, "32x128x56x56 x2"),
            ("resize_nearest_exact", exact.clone(), small, "32x128x56x56 x2"),
            ("resize_bilinear_antialiased", smooth(Linear), large, "32x128x112x112 /2"),
            ("resize_bicubic_antialiased", smooth(Cubic).with_cubic_coeff(-0.5), large, "32x128x112x112 /2"),
            ("resize_trilinear", Resize::new(&[16, 112, 112], Linear), &[8, 64, 8, 56, 56], "8x64x8x56x56 x2"),
        ] {
            if !rows.wants(name, dtype) {
                continue;
            }
            let (from, to) = (&Layout::contiguous(dims), &Layout::contiguous([&dims[..2], &op.size].concat()));
            let op = Op::Resize(op);
            let src = &rows.bench.random(from.elem_count(), dtype)?;
            let dst = &mut rows.bench.output(to.elem_count(), dtype)?;
            let bytes = (from.elem_count() + to.elem_count()) * dtype.size_in_bytes();
            let call = Box::new(|| GpuStorage::apply_into(&op, &[Src::Storage(src, from)], dst, to));
            rows.add(name, dtype, workload, bytes, call)?;
        }
    }
    Ok(())
}
