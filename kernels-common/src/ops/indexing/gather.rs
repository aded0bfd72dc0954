//! Gathers elements at positions: chooses the kernel and its parameters.

use super::{id_strides, in_order};
use crate::args;
use crate::launch::Launch;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, split};
use crate::manifest::instances::indexing::{GATHER, GATHER_16, STAGED, carrier, with_ids};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, LaunchConfig, Layout, Op, Result, Src};
use std::mem::offset_of;

/// Elements per block of the kernel for any layout.
const BLOCK_ELEMENTS: usize = 1024;
/// The most elements of one launch: with the last block's overhang, indices stay below 2^31.
const MOST: usize = 1 << 30;
/// Threads of a block that holds a line; must match staged.cu.
const STAGED_BLOCK: usize = 256;
/// The longest line in bytes that a block may hold, so that shared memory does not limit the number
/// of threads on a multiprocessor.
const STAGED_BYTES: usize = 32 << 10;
/// Ids per line from which holding the line is worthwhile.
const STAGED_FROM: usize = 256;
/// The most blocks of a launch, so that threads stay below 2^32.
const MOST_BLOCKS: usize = (1 << 24) - 1;

/// The layout of the kernels' `Gather`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Gather {
    index: Index<3>,
    size: u64,
    step: u64,
    n: u32,
}

const _: () = assert!(size_of::<Gather>() == 320);
const _: () = assert!(offset_of!(Gather, size) == 296 && offset_of!(Gather, n) == 312);

/// The layout of the kernels' `Staged`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Staged {
    lines: Index<3>,
    size: u32,
    n: u32,
    dst_step: u64,
    ids_step: u64,
    parts: Divisor,
    part: u32,
    src_vectors: u32,
    vectors: u32,
}

const _: () = assert!(size_of::<Staged>() == 344);
const _: () = assert!(offset_of!(Staged, size) == 296 && offset_of!(Staged, dst_step) == 304);
const _: () = assert!(offset_of!(Staged, parts) == 320 && offset_of!(Staged, part) == 332);

/// The operands, the addresses of their first elements, and the dtype of the ids.
struct Operands<'a, R: GpuRuntime> {
    dst: &'a GpuStorage<R>,
    /// Destination, ids, source.
    at: [DevicePtr; 3],
    ids: DType,
    flag: DevicePtr,
}

pub(super) fn take<R: GpuRuntime>(
    op: &Op,
    dim: usize,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let ((src, src_layout), (ids, ids_layout)) = (stored(srcs, 0), stored(srcs, 1));
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let (size, step) = (src_layout.dims()[dim], src_layout.stride()[dim]);
    let id_strides = id_strides(ids_layout, op, dim, dst_layout.dims().len());
    let dim_of = |d: usize| Dim {
        size: dst_layout.dims()[d],
        stride: [dst_layout.stride()[d], id_strides[d], if d == dim { 0 } else { src_layout.stride()[d] }],
    };
    let flag = dst.device().index_faults(op, size)?;
    let operands = Operands {
        at: [
            dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
            ids.ptr().at(ids.dtype(), ids_layout.start_offset()),
            src.ptr().at(src.dtype(), src_layout.start_offset()),
        ],
        dst,
        ids: ids.dtype(),
        flag: flag.ptr(),
    };
    let lines: IndexDims<3> = (0..dst_layout.dims().len()).filter(|&d| d != dim).map(dim_of).collect();
    let along = dim_of(dim);
    let nearest = lines.iter().all(|d| d.size == 1 || d.stride[0] >= along.stride[0]);
    let bytes = size.saturating_mul(dst.dtype().size_in_bytes());
    let many = (STAGED_FROM.max(size / 4)..MOST).contains(&along.size);
    if step == 1 && nearest && (1..=STAGED_BYTES).contains(&bytes) && many {
        // SAFETY: the layouts were validated against their buffers; the kernel checks the ids.
        return unsafe { operands.staged(size, along, in_order(lines)) };
    }
    let mut dims = lines;
    dims.push(along);
    // SAFETY: same as above.
    unsafe { operands.any(size, step, in_order(dims)) }
}

impl<R: GpuRuntime> Operands<'_, R> {
    /// Gathers in any layout. `dims` are the dimensions of the destination, with the source at
    /// position 0.
    ///
    /// # Safety
    /// Every element of the walk must be allocated in destination and ids, and in the source at
    /// each of the `size` positions, which are `step` apart.
    unsafe fn any(&self, size: usize, mut step: usize, mut dims: IndexDims<3>) -> Result<()> {
        let mut unit = self.dst.dtype().size_in_bytes();
        let last = dims.len().saturating_sub(1);
        if let [outer @ .., Dim { size: run, stride: [1, 0, 1] }] = &mut dims[..] {
            // Runs with a single id that are contiguous on both sides move in the largest units
            // that divide and align them.
            let steps = outer.iter().fold(step | *run, |all, d| all | d.stride[0] | d.stride[2]);
            let low = (steps * unit) as u64 | self.at[0].0 | self.at[2].0;
            let by = (1usize << low.trailing_zeros().min(4)).max(unit) / unit;
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
        split(&dims, MOST, [0; 3], &mut |dims, offset| {
            let n = count(dims);
            let parameters = Gather { index: Index::new(dims), size: size as u64, step: step as u64, n: n as u32 };
            let [dst, ids, src] = self.moved(offset, unit);
            let launch = Launch::linear(key, n.div_ceil(BLOCK_ELEMENTS) as u32, 256);
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
    unsafe fn staged(&self, size: usize, along: Dim<3>, lines: IndexDims<3>) -> Result<()> {
        let unit = self.dst.dtype().size_in_bytes();
        let id = self.ids.size_in_bytes();
        let ids_pack = (16 / id).min(8);
        // A block takes at least as many ids as it holds elements, rounded up to whole packs per
        // thread.
        let part = size.clamp(2048, 1 << 20).next_multiple_of(STAGED_BLOCK * 8).min(along.size.next_multiple_of(16));
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
            size: size as u32,
            n: along.size as u32,
            dst_step: along.stride[0] as u64,
            ids_step: along.stride[1] as u64,
            parts: Divisor::new(parts),
            part: part as u32,
            src_vectors: u32::from(aligned(2, 16, unit)),
            vectors: u32::from(vectors),
        };
        let key = with_ids(STAGED, carrier(unit), self.ids);
        split(&lines, (MOST_BLOCKS / parts).max(1), [0; 3], &mut |lines, offset| {
            parameters.lines = Index::new(lines);
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
    fn moved(&self, offset: [usize; 3], unit: usize) -> [DevicePtr; 3] {
        let sizes = [unit, self.ids.size_in_bytes(), unit];
        std::array::from_fn(|o| DevicePtr(self.at[o].0 + (offset[o] * sizes[o]) as u64))
    }
}
