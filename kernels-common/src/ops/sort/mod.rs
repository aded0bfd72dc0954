//! Sorts along the last dimension, and takes the first elements of a sorted dimension (top-k).
//!
//! One block sorts a row that fits in its shared memory. A longer row is sorted in tiles, which are
//! then merged two by two. Tiles and merged runs keep only as many elements as the result needs. If
//! it needs all elements of a row of many tiles, digits take fewer passes than merges do.

mod radix;
mod rows;

use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::elementwise::carrier;
use crate::launch::index::{Dim, Divisor, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::ops::{positions, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Sort, Src};
pub(crate) use radix::{Moved, Radix, keys as radix_keys};
pub(crate) use rows::Order;
use rows::{Merge, Output, Rows, Tiles};

use crate::manifest::instances::sort::{MERGE, SMALL, TILE_LARGE, TILE_SMALL, key, large};

/// The log2 of the words that a thread of a tile sorts; must match network.cuh.
const EACH: u32 = 4;
const MERGE_THREADS: u32 = 256;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let mut keys: Vec<_> = [TILE_SMALL, TILE_LARGE, MERGE].map(|variant| key(carrier(dtypes[0]), variant)).into();
    keys.extend(radix_keys(dtypes[0]));
    keys.extend(positions::keys(op, dtypes[1]));
    keys
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (sort, output) = match *op {
        Op::Sort(sort) => (sort, Output::Values),
        Op::ArgSort(sort) => (sort, Output::Positions),
        Op::TopK(top) => (top.sort(), Output::Values),
        Op::ArgTopK(top) => (top.sort(), Output::Positions),
        _ => unreachable!("not an operation of the family"),
    };
    let (src, src_layout) = stored(srcs, 0);
    let last = src_layout.dims().len() - 1;
    let (length, keep) = (src_layout.dims()[last], dst_layout.dims()[last]);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    if src.dtype().size_in_bytes() == 4 && sizes::SORT_ROW.is_exceeded(length) {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{op} of {length} elements of {}: the GPU drivers sort rows of up to {}", src.dtype(), u32::MAX),
        ));
    }
    let words = positions::begin(op, dst, dst_layout)?;
    let mut rows = IndexDims::new();
    for (d, &size) in src_layout.dims()[..last].iter().enumerate() {
        push(&mut rows, Dim { size, stride: [src_layout.stride()[d], dst_layout.stride()[d] * words] });
    }
    let pass = Pass {
        device: dst.device(),
        dtype: src.dtype(),
        sort,
        output,
        length,
        keep,
        steps: [src_layout.stride()[last], dst_layout.stride()[last] * words],
        src: src.ptr().at(src.dtype(), src_layout.start_offset()),
        dst: dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
    };
    // SAFETY: both layouts were validated against their buffers, which are distinct, because one is
    // borrowed mutably.
    unsafe { pass.run(&rows) }
}

/// An operation on given tensors.
struct Pass<'a, R: GpuRuntime> {
    device: &'a GpuDevice<R>,
    dtype: DType,
    sort: Sort,
    output: Output,
    length: usize,
    keep: usize,
    /// The step from one element of a row to the next, in source and destination.
    steps: [usize; 2],
    src: DevicePtr,
    dst: DevicePtr,
}

impl<R: GpuRuntime> Pass<'_, R> {
    /// Sorts every row of a walk.
    ///
    /// # Safety
    /// Every element of the rows, and every result, must be allocated.
    unsafe fn run(&self, rows: &[Dim<2>]) -> Result<()> {
        let size = self.dtype.size_in_bytes();
        let (variant, log) =
            if sizes::SORT_SMALL.is_exceeded(self.length) { (TILE_LARGE, large(size)) } else { (TILE_SMALL, SMALL) };
        let merged = self.length.div_ceil(sizes::SORT_TILE.limit_or(self.length, 1 << log));
        let by_digits = merged > 1 && self.keep == self.length && self.takes_digits(merged);
        let tiles = if by_digits { self.length.div_ceil(radix::TILE) } else { merged };
        let all = count(rows);
        let blocks = sizes::SORT_BLOCKS.limit(all.saturating_mul(tiles));
        let most = match tiles {
            1 => blocks,
            _ => {
                let records = sizes::SORT_RECORDS.limit(all.saturating_mul(self.length));
                (records / self.length).min(blocks / tiles).max(1)
            }
        };
        split(rows, most, [0, 0], &mut |rows, [src, dst]| {
            let dst_size = if self.output == Output::Positions { DType::U32.size_in_bytes() } else { size };
            let part = Pass {
                src: self.src.at(self.dtype, src),
                dst: DevicePtr(self.dst.0 + (dst * dst_size) as u64),
                ..*self
            };
            let order = Order::new(self.dtype, self.sort);
            let parameters = Rows::new(order, rows, self.steps, [self.length, self.keep], self.output);
            // SAFETY: this is a part of the rows; the caller promises that every element of the
            // rows, and every result, is allocated.
            unsafe {
                match tiles {
                    1 => part.short(parameters, variant, log),
                    _ if by_digits => part.digits(order, rows),
                    _ => part.long(parameters, log, tiles),
                }
            }
        })
    }

    /// Returns whether a row of so many tiles is sorted by digits. A pass over a digit takes about
    /// as long as a merge, and two more are for the sorted tiles and the fixed cost of the passes.
    fn takes_digits(&self, tiles: usize) -> bool {
        let passes = radix::passes(self.bits());
        self.length <= u32::MAX as usize && sizes::SORT_RADIX_FROM.is_reached_or(tiles, 1 << (passes + 2))
    }

    fn bits(&self) -> u32 {
        8 * self.dtype.size_in_bytes() as u32
    }

    /// Sorts rows that fit in a tile.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn short(&self, rows: Rows, variant: u8, log: u32) -> Result<()> {
        let shift = self.length.next_power_of_two().ilog2().max(1);
        let blocks = (rows.count as usize).div_ceil(1 << (log - shift));
        let tiles = Tiles::of_whole_rows(rows, shift, self.dtype);
        let launch = Launch::linear(key(carrier(self.dtype), variant), blocks as u32, 1 << (log - EACH));
        // SAFETY: the caller promises valid rows; the kernel writes no runs.
        unsafe { launch.on(self.device, args![self.src, self.dst, DevicePtr(0), tiles]) }
    }

    /// Sorts rows tile by tile, and merges the tiles.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn long(&self, rows: Rows, log: u32, tiles: usize) -> Result<()> {
        let count = rows.count as usize;
        // Records per run, and records of all runs of a row; the last run may be shorter.
        let mut run = self.keep.min(1 << log);
        let mut of_row = (tiles - 1) * run + run.min(self.length - ((tiles - 1) << log));
        let mut runs = tiles;
        let mut records = self.records(count * of_row)?;
        let carrier = carrier(self.dtype);
        let parameters = Tiles::of_parts(rows, log, self.dtype, tiles, run, of_row);
        let launch = Launch::linear(key(carrier, TILE_LARGE), (count * tiles) as u32, 1 << (log - EACH));
        // SAFETY: the caller promises valid rows, and there is space for every run.
        unsafe { launch.on(self.device, args![self.src, self.dst, records.ptr(), parameters])? };
        while runs > 1 {
            let merged = runs.div_ceil(2);
            let run_after = self.keep.min(2 * run);
            let left = of_row - 2 * (merged - 1) * run;
            let row_after = (merged - 1) * run_after + run_after.min(left);
            let last = merged == 1;
            let stretches = run_after.div_ceil(sizes::SORT_STRETCH.limit(run_after));
            let merge = Merge {
                rows,
                runs: Divisor::new(merged),
                stretches: Divisor::new(stretches),
                run_before: run as u64,
                run_after: run_after as u64,
                row_before: of_row as u64,
                row_after: row_after as u64,
                last: u32::from(last),
            };
            let next = if last { None } else { Some(self.records(count * row_after)?) };
            let to = next.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
            let launch = Launch::linear(key(carrier, MERGE), (count * merged * stretches) as u32, MERGE_THREADS);
            // SAFETY: the caller promises valid rows; the runs are those that were written before,
            // and there is space for every merged run. Merged runs return to the pool, which reuses
            // them in stream order.
            unsafe { launch.on(self.device, args![self.src, self.dst, records.ptr(), to, merge])? };
            let Some(next) = next else { break };
            (records, run, of_row, runs) = (next, run_after, row_after, merged);
        }
        Ok(())
    }

    /// Sorts rows by one digit of their keys after the other.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn digits(&self, order: Order, rows: &[Dim<2>]) -> Result<()> {
        let (bits, length, steps) = (self.bits(), self.length, self.steps);
        let sort = Radix { device: self.device, dtype: self.dtype, order, bits, rows, steps, length };
        let none = DevicePtr(0);
        let results = match self.output {
            Output::Values => Moved { elements: self.dst, positions: none },
            Output::Positions => Moved { elements: none, positions: self.dst },
        };
        // SAFETY: the caller promises valid rows and results.
        unsafe { sort.run(self.src, results) }
    }

    /// Allocates memory for `count` records of keys and positions.
    fn records(&self, count: usize) -> Result<GpuStorage<R>> {
        let size = if self.dtype.size_in_bytes() == 8 { 16 } else { 8 };
        self.device.alloc(count * size, DType::U8)
    }
}
