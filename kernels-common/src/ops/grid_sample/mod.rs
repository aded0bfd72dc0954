//! Sampling images at positions that a tensor has. Every layout is read and written in place.

use crate::args;
use crate::key::Key;
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::grid_sample::key;
use crate::ops::channels::{Groups, groups};
use crate::ops::stored;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, GridPadding, Layout, Op, Result, Src};
use std::mem::offset_of;

/// Must match elementwise.cuh.
const BLOCK: u32 = 256;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let &Op::GridSample(op) = op else { unreachable!("not an operation of the family") };
    let dims = [2, 3].into_iter().filter(|&dims| op.takes_dims(dims));
    dims.map(|dims| key(op.mode, dims, [dtypes[0], dtypes[1]])).collect()
}

/// The layout of the kernels' `GridSample`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct GridSample {
    units_at: Index<3>,
    size: [u64; 3],
    step: [u64; 3],
    image_channel: u64,
    result_channel: u64,
    number: u64,
    units: u32,
    channels: u32,
    padding: u32,
    align_corners: u32,
}

const _: () = assert!(size_of::<GridSample>() == 384);
const _: () = assert!(offset_of!(GridSample, size) == 296 && offset_of!(GridSample, number) == 360);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::GridSample(op) = op else { unreachable!("not an operation of the family") };
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let [(image, image_layout), (grid, grid_layout)] = [0, 1].map(|i| stored(srcs, i));
    let (dtype, grid_dtype, rank) = (dst.dtype(), grid.dtype(), dst_layout.dims().len());
    let spatial = rank - 2;
    let from_last =
        |values: &[usize]| std::array::from_fn(|d| if d < spatial { values[rank - 1 - d] as u64 } else { 0 });
    let [from, at] = [(image, image_layout), (grid, grid_layout)]
        .map(|(storage, layout)| storage.ptr().at(storage.dtype(), layout.start_offset()));
    let to = dst.ptr().at(dtype, dst_layout.start_offset());
    let (image_channel, result_channel) = (image_layout.stride()[1], dst_layout.stride()[1]);
    let (images, grids, results) = (image_layout.stride(), grid_layout.stride(), dst_layout.stride());
    for Groups { first, count: groups, channels } in groups(dst_layout) {
        let mut dims = IndexDims::<3>::new();
        push(&mut dims, Dim { size: dst_layout.dims()[0], stride: [images[0], grids[0], results[0]] });
        push(&mut dims, Dim { size: groups, stride: [channels * image_channel, 0, channels * result_channel] });
        for d in 2..rank {
            push(&mut dims, Dim { size: dst_layout.dims()[d], stride: [0, grids[d - 1], results[d]] });
        }
        let most = sizes::GRID_SAMPLE.limit(count(&dims));
        split(&dims, most, [first * image_channel, 0, first * result_channel], &mut |dims, offset| {
            let units = count(dims) as u32;
            let sample = GridSample {
                units_at: Index::new(dims),
                size: from_last(image_layout.dims()),
                step: from_last(image_layout.stride()),
                image_channel: image_channel as u64,
                result_channel: result_channel as u64,
                number: grids[rank - 1] as u64,
                units,
                channels: channels as u32,
                padding: padding(op.padding),
                align_corners: op.align_corners.into(),
            };
            let (from, at, to) = (from.at(dtype, offset[0]), at.at(grid_dtype, offset[1]), to.at(dtype, offset[2]));
            let launch = Launch::linear(key(op.mode, spatial, [dtype, grid_dtype]), units.div_ceil(BLOCK), BLOCK);
            // SAFETY: the layouts were validated against their buffers; the kernel reads the image
            // only where it has elements.
            unsafe { launch.on(dst.device(), args![from, at, to, sample]) }
        })?;
    }
    Ok(())
}

/// Returns the number of what is outside the image; must match grid_sample.cu.
fn padding(padding: GridPadding) -> u32 {
    match padding {
        GridPadding::Border => 1,
        GridPadding::Reflection => 2,
        _ => 0,
    }
}
