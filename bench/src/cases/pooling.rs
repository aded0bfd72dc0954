//! Pooling.

use super::Rows;
use isobit_hal::{AdaptivePool, BackendStorage, DType, Layout, Op, Pool1d, Pool2d, Pool3d, Result, Shape, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let plane: Shape = [32, 128, 112, 112].into();
    let (twos, threes) = (Pool2d::new([2, 2]), Pool2d::new([3, 3]).with_stride([2, 2]).with_padding([1, 1]));
    let bare = Pool2d::new([3, 3]).with_stride([2, 2]);
    let apart = Pool2d::new([3, 3]).with_stride([1, 1]).with_padding([1, 1]);
    let columns: Shape = [32, 128 * 9, 56 * 56].into();
    let line = Pool1d::new([3]).with_stride([2]).with_padding([1]);
    let volume = Pool3d::new([3; 3]).with_stride([2; 3]).with_padding([1; 3]);
    let (sevenths, uneven) = (AdaptivePool::new([7, 7]), AdaptivePool::new([50, 50]));
    let (sound, video): (Shape, Shape) = ([32, 512, 4096].into(), [8, 64, 16, 112, 112].into());
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (name, op, shape, work) in [
            ("avg_pool2d", Op::AvgPool2d(twos), &plane, "32x128x112x112 2x2"),
            ("max_pool2d", Op::MaxPool2d(twos), &plane, "32x128x112x112 2x2"),
            ("max_pool2d_k3s2p1", Op::MaxPool2d(threes), &plane, "32x128x112x112 3x3"),
            ("max_pool2d_k3d2", Op::MaxPool2d(bare.with_dilation([2, 2])), &plane, "32x128x112x112 3x3"),
            ("argmax_pool2d_k3s2p1", Op::ArgMaxPool2d(threes), &plane, "32x128x112x112 3x3"),
            ("max_pool1d_k3s2p1", Op::MaxPool1d(line), &sound, "32x512x4096 3"),
            ("avg_pool3d_k3s2p1", Op::AvgPool3d(volume), &video, "8x64x16x112x112 3x3x3"),
            ("max_pool3d_k3s2p1", Op::MaxPool3d(volume), &video, "8x64x16x112x112 3x3x3"),
            ("lp_pool2d_k3s2", Op::LpPool(bare.lp(2.0)), &plane, "32x128x112x112 3x3"),
            ("lp_pool2d_k3s2_p3", Op::LpPool(bare.lp(3.0)), &plane, "32x128x112x112 3x3"),
            ("adaptive_avg_pool2d", Op::AdaptiveAvgPool(sevenths), &plane, "32x128x112x112 to 7x7"),
            ("adaptive_avg_pool2d_uneven", Op::AdaptiveAvgPool(uneven), &plane, "32x128x112x112 to 50x50"),
            ("adaptive_max_pool2d_uneven", Op::AdaptiveMaxPool(uneven), &plane, "32x128x112x112 to 50x50"),
            ("adaptive_argmax_pool2d_uneven", Op::AdaptiveArgMaxPool(uneven), &plane, "32x128x112x112 to 50x50"),
            ("col2im2d_k3p1", Op::Col2im(apart.backward([56, 56])), &columns, "32x128x56x56 3x3"),
        ] {
            if rows.wants(name, dtype) {
                let result = op.result_shape(&[shape])?.expect("the input determines the shape");
                let (from, to) = (&Layout::contiguous(shape.clone()), &Layout::contiguous(result));
                let found = op.result_dtype(&[dtype]).expect("the input determines the dtype");
                let src = &rows.bench.random(from.elem_count(), dtype)?;
                let dst = &mut rows.bench.output(to.elem_count(), found)?;
                let bytes = from.elem_count() * dtype.size_in_bytes() + to.elem_count() * found.size_in_bytes();
                let call = Box::new(|| GpuStorage::apply_into(&op, &[Src::Storage(src, from)], dst, to));
                rows.add(name, dtype, work, bytes, call)?;
            }
        }
        let gradients: Shape = [32, 128, 56, 56].into();
        for (name, op, work) in [
            ("avg_pool2d_backward", Op::AvgPoolBackward(twos.backward([112, 112])), "32x128x112x112 2x2"),
            ("avg_pool2d_k3s2p1_backward", Op::AvgPoolBackward(threes.backward([112, 112])), "32x128x112x112 3x3"),
            ("max_pool2d_k3s2p1_backward", Op::MaxPoolBackward(threes.backward([112, 112])), "32x128x112x112 3x3"),
        ] {
            if rows.wants(name, dtype) {
                let (from, to) = (&Layout::contiguous(gradients.clone()), &Layout::contiguous(plane.clone()));
                let src = &rows.bench.random(from.elem_count(), dtype)?;
                let places = &mut rows.bench.output(from.elem_count(), DType::U32)?;
                let pooled = rows.bench.random(to.elem_count(), dtype)?;
                GpuStorage::apply_into(&Op::ArgMaxPool2d(threes), &[Src::Storage(&pooled, to)], places, from)?;
                let dst = &mut rows.bench.output(to.elem_count(), dtype)?;
                let srcs = &[Src::Storage(src, from), Src::Storage(places, from)][..op.inputs()];
                let place_bytes = (op.inputs() - 1) * DType::U32.size_in_bytes();
                let elements = from.elem_count() + to.elem_count();
                let bytes = elements * dtype.size_in_bytes() + from.elem_count() * place_bytes;
                let call = Box::new(|| GpuStorage::apply_into(&op, srcs, dst, to));
                rows.add(name, dtype, work, bytes, call)?;
            }
        }
    }
    Ok(())
}
