//! Gathers elements at positions: chooses the kernel and its parameters.

use super::{from_end, id_strides, in_order};
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, split};
use crate::launch::{Launch, rows, sizes};
use crate::manifest::instances::indexing::{GATHER, GATHER_16, STAGED, carrier, with_ids};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Indexing, LaunchConfig, Layout, Op, Result, Src};
use std::mem::offset_of;

/// Elements per block, and its threads; must match each.cuh.
pub(super) const BLOCK_ELEMENTS: usize = 1024;
pub(super) const BLOCK: u32 = 256;
/// Threads of a block that holds a line; must match staged.cu.
const STAGED_BLOCK: usize = 256;
/// Ids per line from which holding the line is worthwhile.
const STAGED_IDS: usize = 256;

/// The layout of the kernels' `Each`, for elements with their own ids, which are gathered or
/// combined in place.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Each {
    pub(super) index: Index<4>,
    pub(super) place: u64,
    pub(super) size: u64,
    pub(super) step: u64,
    pub(super) from_end: u64,
    pub(super) n: u32,
}

const _: () = assert!(size_of::<Each>() == 400);
const _: () = assert!(offset_of!(Each, place) == 360 && offset_of!(Each, n) == 392);

/// The layout of the kernels' `Staged`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Staged {
    lines: Index<4>,
    place: u64,
    size: u32,
    n: u32,
    dst_step: u64,
    ids_step: u64,
    place_step: u64,
    from_end: u64,
    parts: Divisor,
    part: u32,
    src_vectors: u32,
    vectors: u32,
}

const _: () = assert!(size_of::<Staged>() == 432);
const _: () = assert!(offset_of!(Staged, size) == 368 && offset_of!(Staged, dst_step) == 376);
const _: () = assert!(offset_of!(Staged, parts) == 408 && offset_of!(Staged, part) == 420);

/// The operands, the addresses of their first elements, and the dtype of the ids.
pub(super) struct Operands<'a, R: GpuRuntime> {
    pub(super) dst: &'a GpuStorage<R>,
    /// Destination, ids, source.
    pub(super) at: [DevicePtr; 3],
    pub(super) ids: DType,
    /// The number of positions if negative ids count from the end, else 0.
    pub(super) from_end: usize,
    pub(super) flag: DevicePtr,
}

/// Runs `gather` and `index_select`.
pub(super) fn take<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Indexing { dim, .. } = op.indexing().expect("an operation with single ids");
    let ((src, src_layout), (ids, ids_layout)) = (stored(srcs, 0), stored(srcs, 1));
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (size, step) = (src_layout.dims()[dim], src_layout.stride()[dim]);
    let [id_strides, places] = id_strides(ids_layout, op, dim, dst_layout.dims().len());
    let dim_of = |d: usize| {
        let from = if d == dim { 0 } else { src_layout.stride()[d] };
        Dim { size: dst_layout.dims()[d], stride: [dst_layout.stride()[d], id_strides[d], from, places[d]] }
    };
    let flag = dst.device().index_faults(op, [ids_layout.dims(), src_layout.dims()])?;
    let operands = Operands {
        at: [
            dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
            ids.ptr().at(ids.dtype(), ids_layout.start_offset()),
            src.ptr().at(src.dtype(), src_layout.start_offset()),
        ],
        dst,
        ids: ids.dtype(),
        from_end: from_end(op, size),
        flag: flag.ptr(),
    };
    let lines: IndexDims<4> = (0..dst_layout.dims().len()).filter(|&d| d != dim).map(dim_of).collect();
    let along = dim_of(dim);
    let nearest = lines.iter().all(|d| d.size == 1 || d.stride[0] >= along.stride[0]);
    let bytes = size.saturating_mul(dst.dtype().size_in_bytes());
    let pays = || {
        let from = STAGED_IDS.max(size / 4);
        sizes::GATHER_STAGED_FROM.is_reached_or(along.size, from) && !sizes::GATHER_STAGED.is_exceeded(along.size)
    };
    if step == 1 && nearest && bytes > 0 && !sizes::GATHER_STAGED_BYTES.is_exceeded(bytes) && pays() {
        // SAFETY: the layouts were validated against their buffers; the kernel checks the ids.
        return unsafe { operands.staged(size, along, in_order(lines)) };
    }
    let mut dims = lines;
    dims.push(along);
    // SAFETY: same as above.
    unsafe { operands.any(size, step, dims) }
}

impl<R: GpuRuntime> Operands<'_, R> {
    /// Gathers in any layout. `dims` are the dimensions of the destination, the ids, the source at
    /// position 0, and the places of the ids.
    ///
    /// # Safety
    /// Every element of the walk must be allocated in destination and ids, and in the source at
    /// each of the `size` positions, which are `step` apart.
    pub(super) unsafe fn any(&self, size: usize, mut step: usize, dims: IndexDims<4>) -> Result<()> {
        let mut dims = in_order(dims);
        let mut unit = self.dst.dtype().size_in_bytes();
        let last = dims.len().saturating_sub(1);
        if let [outer @ .., Dim { size: run, stride: [1, 0, 1, _] }] = &mut dims[..] {
            // Runs with a single id that are contiguous on both sides move in the largest units
            // that divide and align them.
            let steps = outer.iter().fold(step | *run, |all, d| all | d.stride[0] | d.stride[2]);
            let by = rows::unit(unit, steps as u64, self.at[0].0 | self.at[2].0) / unit;
            outer.iter_mut().for_each(|d| (d.stride[0], d.stride[2]) = (d.stride[0] / by, d.stride[2] / by));
            *run /= by;
            step /= by;
            unit *= by;
            if *run == 1 {
                dims.remove(last);
            }
        }
        let key = match unit {
            16 => with_ids(GATHER_16, DType::I64, self.ids),
            _ => with_ids(GATHER, carrier(unit), self.ids),
        };
        split(&dims, sizes::GATHER.limit(count(&dims)), [0; 4], &mut |dims, offset| {
            let n = count(dims);
            let parameters = Each {
                index: Index::new(dims),
                place: offset[3] as u64,
                size: size as u64,
                step: step as u64,
                from_end: self.from_end as u64,
                n: n as u32,
            };
            let [dst, ids, src] = self.moved(offset, unit);
            let launch = Launch::linear(key, n.div_ceil(BLOCK_ELEMENTS) as u32, BLOCK);
            // SAFETY: this is a part of the walk, for which the caller promises that every element
            // is allocated in destination and ids, and in the source at each of the `size`
            // positions, `step` apart.
            unsafe { launch.on(self.dst.device(), args![src, ids, dst, parameters, self.flag]) }
        })
    }

    /// Gathers from contiguous lines of the source that fit a block's shared memory.
    ///
    /// # Safety
    /// Same as [`any`](Self::any), with a `step` of 1.
    unsafe fn staged(&self, size: usize, along: Dim<4>, lines: IndexDims<4>) -> Result<()> {
        let unit = self.dst.dtype().size_in_bytes();
        let id = self.ids.size_in_bytes();
        let ids_pack = (16 / id).min(8);
        // A block takes at least as many ids as it holds elements, rounded up to whole packs per
        // thread.
        let part = size.max(2048).next_multiple_of(STAGED_BLOCK * 8);
        let part = sizes::GATHER_STAGED_PART.limit_or(along.size, part).min(along.size.next_multiple_of(16));
        let parts = along.size.div_ceil(part);
        let aligned = |o: usize, bytes: usize, size: usize| {
            let steps = lines.iter().fold(0, |all, d| all | d.stride[o]);
            (self.at[o].0 | (steps * size) as u64).is_multiple_of(bytes as u64)
        };
        let vectors = along.stride[0] == 1
            && along.stride[1] == 1
            && aligned(0, (ids_pack * unit).min(16), unit)
            && aligned(1, ids_pack * id, id);
        let mut parameters = Staged {
            lines: Index::new(&[]),
            place: 0,
            size: size as u32,
            n: along.size as u32,
            dst_step: along.stride[0] as u64,
            ids_step: along.stride[1] as u64,
            place_step: along.stride[3] as u64,
            from_end: self.from_end as u64,
            parts: Divisor::new(parts),
            part: part as u32,
            src_vectors: u32::from(aligned(2, 16, unit)),
            vectors: u32::from(vectors),
        };
        let key = with_ids(STAGED, carrier(unit), self.ids);
        let blocks = sizes::GATHER_BLOCKS.limit(parts.saturating_mul(count(&lines)));
        split(&lines, (blocks / parts).max(1), [0; 4], &mut |lines, offset| {
            parameters.lines = Index::new(lines);
            parameters.place = offset[3] as u64;
            let [dst, ids, src] = self.moved(offset, unit);
            let mut config = LaunchConfig::linear((count(lines) * parts) as u32, STAGED_BLOCK as u32);
            config.shared_bytes = (size * unit) as u32;
            // SAFETY: this is a part of the walk, for which the caller promises what `any`
            // requires, with a `step` of 1.
            unsafe { Launch { key, config }.on(self.dst.device(), args![src, ids, dst, parameters, self.flag]) }
        })
    }

    /// Returns the addresses of the operands moved by an offset, for values in units of `unit`
    /// bytes.
    fn moved(&self, offset: [usize; 4], unit: usize) -> [DevicePtr; 3] {
        let sizes = [unit, self.ids.size_in_bytes(), unit];
        std::array::from_fn(|o| DevicePtr(self.at[o].0 + (offset[o] * sizes[o]) as u64))
    }
}
