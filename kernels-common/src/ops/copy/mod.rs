//! Copies between layouts.

use crate::args;
use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::rows::{BLOCK, RowBlocks, unit};
use crate::launch::{Launch, sizes};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

use crate::manifest::instances::copy::{CARRIERS, RUNS, STRIDED, STRIDED_16, TILE, TILE_VECTOR, vector};
use std::mem::offset_of;

/// Elements per block of the strided kernel.
const BLOCK_ELEMENTS: usize = 1024;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let from = CARRIERS.iter().position(|c| c.size_in_bytes() == dtypes[0].size_in_bytes()).unwrap_or(0);
    let variants = [STRIDED, TILE, TILE_VECTOR, RUNS];
    let mut keys: Vec<_> =
        CARRIERS[from..].iter().flat_map(|&c| variants.map(|v| Key::new(Family::Copy, 0, &[c], v))).collect();
    keys.push(Key::new(Family::Copy, 0, &[DType::I64], STRIDED_16));
    keys
}

pub(crate) fn apply_into<R: GpuRuntime>(
    _op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Src::Storage(src, src_layout) = srcs[0] else { return Ok(()) };
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let from = src.ptr().at(dst.dtype(), src_layout.start_offset());
    let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
    let dims = dst_layout.dims().iter().zip(src_layout.stride()).zip(dst_layout.stride());
    let dims = dims.map(|((&size, &s), &d)| Dim { size, stride: [s, d] }).collect();
    // SAFETY: both layouts were validated against their buffers, which are distinct, because one is
    // borrowed mutably.
    unsafe { copy_walk(dst.device(), dst.dtype().size_in_bytes(), from, to, dims) }
}

/// Copies the elements of a layout to contiguous memory, in row-major order.
///
/// # Errors
/// `OutOfMemory`, and the errors of launches.
pub(crate) fn contiguous<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &Layout) -> Result<GpuStorage<R>> {
    let mut copied = storage.device().alloc(layout.elem_count(), storage.dtype())?;
    apply_into(&Op::Copy, &[Src::Storage(storage, layout)], &mut copied, &Layout::contiguous(layout.dims()))?;
    Ok(copied)
}

/// Copies the elements of a walk over two tensors (source, destination), of `size` bytes each.
///
/// # Safety
/// Every element of the walk must be allocated in both tensors. The two must not overlap, and no
/// element of the destination may occur twice.
pub(crate) unsafe fn copy_walk<R: GpuRuntime>(
    device: &GpuDevice<R>,
    mut size: usize,
    from: DevicePtr,
    to: DevicePtr,
    dims: IndexDims<2>,
) -> Result<()> {
    let mut dims = in_order(dims);
    if let [.., Dim { size: run, stride: [1, 1] }] = dims[..] {
        let outer = &dims[..dims.len() - 1];
        if outer.is_empty() {
            // SAFETY: the caller promises a valid walk, which is a single run.
            return unsafe { device.runtime().copy_on_device(&device.stream(), to, from, run * size) };
        }
        // Runs that are contiguous on both sides move in the largest units that divide and align
        // them.
        let steps = outer.iter().fold(0, |all, d| all | d.stride[0] | d.stride[1]) | run;
        let unit = unit(size, steps as u64, from.0 | to.0);
        let by = unit / size;
        for d in &mut dims {
            d.stride = d.stride.map(|s| s / by);
        }
        let last = dims.len() - 1;
        dims[last] = Dim { size: run / by, stride: [1, 1] };
        dims = in_order(dims);
        size = unit;
        repeat_runs(&mut dims);
    }
    split(&dims, sizes::COPY.limit(count(&dims)), [0, 0], &mut |dims, [src, dst]| {
        let from = DevicePtr(from.0 + (src * size) as u64);
        let to = DevicePtr(to.0 + (dst * size) as u64);
        if let Some((blocks, runs)) = runs(dims, size) {
            // SAFETY: the caller promises a valid walk; the kernel does not access elements after
            // the end of a run.
            return unsafe { Launch::linear(key(size, RUNS), blocks, BLOCK as u32).on(device, args![from, to, runs]) };
        }
        match tiles(dims, size, from, to) {
            Some((variant, blocks, tiles)) => {
                // SAFETY: the caller promises a valid walk; the kernel does not access elements of
                // a tile beyond its dimensions.
                unsafe { Launch::linear(key(size, variant), blocks, 256).on(device, args![from, to, tiles]) }
            }
            None => {
                let n = count(dims) as u32;
                let blocks = n.div_ceil(BLOCK_ELEMENTS as u32);
                let index = Index::new(dims);
                // SAFETY: the caller promises a valid walk.
                unsafe { Launch::linear(key(size, STRIDED), blocks, 256).on(device, args![from, to, index, n]) }
            }
        }
    })
}

fn key(size: usize, variant: u8) -> Key {
    match size {
        16 => Key::new(Family::Copy, 0, &[DType::I64], STRIDED_16),
        _ => Key::new(Family::Copy, 0, &[CARRIERS[size.trailing_zeros() as usize]], variant),
    }
}

/// Returns the walk in the order of the destination's memory. The order of a copy does not matter;
/// this one writes along runs and merges the most dimensions.
fn in_order(mut dims: IndexDims<2>) -> IndexDims<2> {
    dims.sort_by_key(|d| std::cmp::Reverse((d.stride[1], d.stride[0])));
    let mut merged = IndexDims::new();
    dims.into_iter().for_each(|d| push(&mut merged, d));
    merged
}

/// Orders a walk with long runs so that each run is copied to all its places before the next one:
/// else a source that repeats along an outer dimension is read from memory once for each time.
fn repeat_runs(dims: &mut IndexDims<2>) {
    let Some((run, outer)) = dims.split_last_mut() else { return };
    if sizes::COPY_REPEAT_FROM.is_reached(run.size) {
        outer.sort_by_key(|d| d.stride[0] == 0);
    }
}

/// The layout of the kernels' `Runs`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Runs {
    outer: Index<2>,
    count: u32,
    length: u32,
    parts: Divisor,
    across_shift: u32,
}

const _: () = assert!(size_of::<Runs>() == 256);
const _: () = assert!(offset_of!(Runs, count) == 232 && offset_of!(Runs, parts) == 240);
const _: () = assert!(offset_of!(Runs, across_shift) == 252);

/// Returns the blocks and parameters for a copy of long runs, which are adjacent on both sides.
/// Units of 16 bytes do not need this kernel: there are few of them, and so few positions to
/// compute.
fn runs(dims: &[Dim<2>], size: usize) -> Option<(u32, Runs)> {
    let (&Dim { size: length, stride }, outer) = dims.split_last()?;
    if stride != [1, 1] || size > 8 || !sizes::COPY_RUN_FROM.is_reached(length) {
        return None;
    }
    let count = count(outer);
    // Shorter runs have one part, whatever the number of threads.
    let RowBlocks { blocks, parts, across_shift } = RowBlocks::new(count, length, sizes::COPY_RUN_PART.limit(length));
    let parameters = Runs {
        outer: Index::new(outer),
        count: count as u32,
        length: length as u32,
        parts: Divisor::new(parts),
        across_shift,
    };
    Some((blocks as u32, parameters))
}

/// The layout of the kernels' `Tiles`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tiles {
    a: u32,
    b: u32,
    a_tiles: Divisor,
    b_tiles: Divisor,
    src_a: u64,
    src_b: u64,
    dst_a: u64,
    dst_b: u64,
    batch: Index<2>,
}

const _: () = assert!(size_of::<Tiles>() == 296);
const _: () = assert!(offset_of!(Tiles, a_tiles) == 8 && offset_of!(Tiles, src_a) == 32);
const _: () = assert!(offset_of!(Tiles, batch) == 64);

/// Returns the variant, blocks and parameters of a copy through tiles, if the innermost dimensions
/// of source and destination differ and both are long enough. `dims` are in the destination's
/// order.
fn tiles(dims: &[Dim<2>], size: usize, from: DevicePtr, to: DevicePtr) -> Option<(u8, u32, Tiles)> {
    let (b, rest) = dims.split_last()?;
    let near = (0..rest.len()).filter(|&d| rest[d].stride[0] != 0).min_by_key(|&d| rest[d].stride[0])?;
    let a = &rest[near];
    if size > 8 || a.stride[0] >= b.stride[0] || !sizes::COPY_TILE_FROM.is_reached(a.size.min(b.size)) {
        return None;
    }
    let mut batch: IndexDims<2> = rest.into();
    batch.remove(near);
    let k = vector(size);
    let steps = batch.iter().fold(b.stride[0] | a.stride[1], |all, d| all | d.stride[0] | d.stride[1]);
    let whole = (steps | a.size | b.size).is_multiple_of(k) && (from.0 | to.0).is_multiple_of((k * size) as u64);
    let (variant, side) = match a.stride[0] == 1 && b.stride[1] == 1 && whole {
        true => (TILE_VECTOR, 16 * k),
        false => (TILE, 64),
    };
    let (a_tiles, b_tiles) = (a.size.div_ceil(side), b.size.div_ceil(side));
    let blocks = (a_tiles * b_tiles * count(&batch)) as u32;
    let tiles = Tiles {
        a: a.size as u32,
        b: b.size as u32,
        a_tiles: Divisor::new(a_tiles),
        b_tiles: Divisor::new(b_tiles),
        src_a: a.stride[0] as u64,
        src_b: b.stride[0] as u64,
        dst_a: a.stride[1] as u64,
        dst_b: b.stride[1] as u64,
        batch: Index::new(&batch),
    };
    Some((variant, blocks, tiles))
}
