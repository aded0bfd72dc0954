//! Host side of `ops/element_walk.cuh`: walks over tensors whose last dimensions are rows and
//! columns.

use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::elementwise::loop_blocks;
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::runtime::GpuRuntime;
use isobit_hal::{Layout, Result};
use std::mem::offset_of;

/// The same value as in elementwise.cuh.
const BLOCK: u32 = 256;

/// `ElementWalk` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElementWalk {
    index: Index<4>,
    row: u64,
    column: u64,
    units: u32,
}

const _: () = assert!(size_of::<ElementWalk>() == 384);
const _: () = assert!(offset_of!(ElementWalk, row) == 360 && offset_of!(ElementWalk, units) == 376);

/// The part of a walk that one launch covers: the offsets of the first elements in source and
/// destination, the walk from there, and the launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) walk: ElementWalk,
    pub(crate) launch: Launch,
}

/// Returns the dimensions of a walk over a destination that ends in `spatial` spatial dimensions.
/// The operands are the offset in the source (whose spatial strides come from `src_stride`), the
/// offset in the destination, the row (of all slices, if there are three spatial dimensions) and
/// the column. Neighbours in the destination come last. A unit of work is `pack` columns.
pub(crate) fn dims(src_stride: &[usize], dst: &Layout, spatial: usize, pack: usize) -> IndexDims<4> {
    let rank = dst.shape().rank();
    let mut dims: IndexDims<4> = (0..rank)
        .map(|d| {
            let (size, stride) = (dst.dims()[d], [src_stride[d], dst.stride()[d]]);
            let row = match rank - d {
                2 if spatial >= 2 => 1,
                3 if spatial == 3 => dst.dims()[rank - 2],
                _ => 0,
            };
            let column = d + 1 == rank;
            let dim = Dim { size, stride: [stride[0], stride[1], row, column.into()] };
            if column { Dim { size: size / pack, stride: dim.stride.map(|s| s * pack) } } else { dim }
        })
        .collect();
    dims.sort_by_key(|d| std::cmp::Reverse(d.stride[1]));
    let mut merged = IndexDims::new();
    dims.into_iter().for_each(|d| push(&mut merged, d));
    merged
}

/// Calls `launch` with parts that together cover the walk. The walk must not be empty.
pub(crate) fn parts<R: GpuRuntime>(
    device: &GpuDevice<R>,
    key: Key,
    dims: &[Dim<4>],
    launch: impl FnMut(Part) -> Result<()>,
) -> Result<()> {
    parts_of_blocks(device, key, dims, BLOCK, launch)
}

/// The same for blocks that have so many units at a time.
pub(crate) fn parts_of_blocks<R: GpuRuntime>(
    device: &GpuDevice<R>,
    key: Key,
    dims: &[Dim<4>],
    per_block: u32,
    mut launch: impl FnMut(Part) -> Result<()>,
) -> Result<()> {
    let limits = device.runtime().limits();
    split(dims, sizes::ELEMENT_WALK.limit(count(dims)), [0; 4], &mut |dims, [src, dst, row, column]| {
        let units = count(dims) as u32;
        let walk = ElementWalk { index: Index::new(dims), row: row as u64, column: column as u64, units };
        let blocks = loop_blocks(limits, units.div_ceil(per_block).into(), BLOCK) as u32;
        launch(Part { src, dst, walk, launch: Launch::linear(key, blocks, BLOCK) })
    })
}
