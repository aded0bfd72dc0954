//! Sampling at positions of a grid: those of the image's own elements, moved by less than an
//! element, as optical flow has them.

use super::Rows;
use isobit_hal::{BackendDevice, BackendStorage, DType, GridSample, Interpolation, Layout, Op, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Returns positions of all elements of images, each moved by up to 1/100 in some pattern.
fn positions(image: &[usize], batch: usize, moved: f64) -> Vec<f32> {
    let count: usize = image.iter().product();
    let mut grid = Vec::with_capacity(batch * count * image.len());
    for i in 0..batch * count {
        let mut rest = i % count;
        for (d, &size) in image.iter().rev().enumerate() {
            let centre = (2 * (rest % size) + 1) as f64 / size as f64 - 1.0;
            // The golden ratio's multiples modulo 1 fill an interval evenly.
            let offset = ((i * image.len() + d) as f64 * 0.618_033_988_749_895).fract() - 0.5;
            grid.push((centre + moved * offset) as f32);
            rest /= size;
        }
    }
    grid
}

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    use Interpolation::{Cubic, Linear, Nearest};
    let (plane, volume): (&[usize], &[usize]) = (&[32, 128, 112, 112], &[8, 64, 16, 56, 56]);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (name, mode, dims, moved, workload) in [
            ("grid_sample_bilinear", Linear, plane, 0.02, "32x128x112x112"),
            ("grid_sample_nearest", Nearest, plane, 0.02, "32x128x112x112"),
            ("grid_sample_bicubic", Cubic, plane, 0.02, "32x128x112x112"),
            ("grid_sample_trilinear", Linear, volume, 0.0, "8x64x16x56x56"),
        ] {
            if !rows.wants(name, dtype) {
                continue;
            }
            let op = Op::GridSample(GridSample::new().with_mode(mode));
            let image = &Layout::contiguous(dims);
            let grid = &Layout::contiguous([&dims[..1], &dims[2..], &[dims.len() - 2]].concat());
            let at = positions(&dims[2..], dims[0], moved);
            let at = rows.bench.device.storage_from_slice(&at)?.to_dtype(&Layout::contiguous(at.len()), dtype)?;
            let src = rows.bench.random(image.elem_count(), dtype)?;
            let mut dst = rows.bench.output(image.elem_count(), dtype)?;
            let bytes = (2 * image.elem_count() + at.len()) * dtype.size_in_bytes();
            let call = Box::new(|| {
                let inputs = [Src::Storage(&src, image), Src::Storage(&at, grid)];
                GpuStorage::apply_into(&op, &inputs, &mut dst, image)
            });
            rows.add(name, dtype, workload, bytes, call)?;
        }
    }
    Ok(())
}
