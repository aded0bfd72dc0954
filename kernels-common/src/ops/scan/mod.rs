//! Running sums, products and extremes along a dimension.

use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::scan::{BEFORE, COLUMN_PAIRS, COLUMNS, ROWS, TOTALS, accumulator, has_pairs, key};
use crate::ops::copy::{self, copy_walk};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Scan, Src};
use std::mem::offset_of;

/// Elements per run, and threads and elements per tile; must match scan.cu.
const RADIX: usize = 16;
const ROWS_BLOCK: usize = 256;
const COLUMNS_BLOCK: usize = 512;
const TILE: usize = RADIX * ROWS_BLOCK;

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let &Op::Scan(Scan { op, .. }) = op else { return Vec::new() };
    let mut keys = copy::keys(&Op::Copy, dtypes);
    keys.extend([ROWS, TOTALS, COLUMNS].map(|variant| key(op, dtypes[0], variant)));
    keys.extend(has_pairs(dtypes[0]).then(|| key(op, dtypes[0], COLUMN_PAIRS)));
    keys.push(key(op, accumulator(op, dtypes[0]), BEFORE));
    keys
}

/// The layout of the kernels' `Rows`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Rows {
    n: u64,
    sequences: Index<2>,
    count: u32,
    team_shift: u32,
    tiles: Divisor,
    src_vectors: u32,
    dst_vectors: u32,
    reverse: u32,
    exclusive: u32,
}

const _: () = assert!(size_of::<Rows>() == 280);
const _: () = assert!(offset_of!(Rows, sequences) == 8 && offset_of!(Rows, count) == 240);
const _: () = assert!(offset_of!(Rows, tiles) == 248 && offset_of!(Rows, src_vectors) == 260);
const _: () = assert!(offset_of!(Rows, reverse) == 268 && offset_of!(Rows, exclusive) == 272);

/// The layout of the kernels' `Columns`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Columns {
    n: u64,
    src_step: i64,
    dst_step: i64,
    sequences: Index<2>,
    count: u32,
    across_shift: u32,
    runs_shift: u32,
    exclusive: u32,
}

const _: () = assert!(size_of::<Columns>() == 272);
const _: () = assert!(offset_of!(Columns, sequences) == 24 && offset_of!(Columns, count) == 256);
const _: () = assert!(offset_of!(Columns, exclusive) == 268);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::Scan(op) = op else { unreachable!("not an operation of the family") };
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let dim = |d: usize| Dim { size: dst_layout.dims()[d], stride: [src_layout.stride()[d], dst_layout.stride()[d]] };
    let mut others: IndexDims<2> = (0..dst_layout.shape().rank()).filter(|&d| d != op.dim).map(dim).collect();
    others.sort_by_key(|d| std::cmp::Reverse(d.stride[1]));
    let mut sequences = IndexDims::new();
    others.into_iter().for_each(|d| push(&mut sequences, d));
    let pass = Pass {
        op,
        dtype: dst.dtype(),
        device: dst.device(),
        src: src.ptr().at(src.dtype(), src_layout.start_offset()),
        dst: dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
    };
    // SAFETY: both layouts were validated against their buffers, which are distinct, because one is
    // borrowed mutably.
    unsafe { pass.run(dim(op.dim), sequences) }
}

/// Returns the most sequences of `n` elements in one launch of the rows kernel.
fn most_rows(n: usize, sequences: &[Dim<2>]) -> usize {
    let tiles = n.div_ceil(TILE);
    (sizes::SCAN_TILES.limit(tiles.saturating_mul(count(sequences))) / tiles).max(1)
}

/// An operation on given tensors.
struct Pass<'a, R: GpuRuntime> {
    op: Scan,
    dtype: DType,
    device: &'a GpuDevice<R>,
    src: DevicePtr,
    dst: DevicePtr,
}

impl<R: GpuRuntime> Pass<'_, R> {
    /// Scans along one dimension, for sequences given by their offsets in source and destination.
    ///
    /// # Safety
    /// Every element of the sequences must be allocated.
    unsafe fn run(&self, along: Dim<2>, sequences: IndexDims<2>) -> Result<()> {
        let n = along.size;
        if n == 1 || along.stride == [1, 1] {
            return self.each_part(&sequences, most_rows(n, &sequences), |part, sequences| {
                // SAFETY: this is a part of the sequences; the caller promises that every element
                // is allocated.
                unsafe { part.rows(n, sequences) }
            });
        }
        if sizes::SCAN_SPREAD.is_reached(n) && !self.are_enough(count(&sequences)) {
            // SAFETY: the caller promises that every element of the sequences is allocated.
            return unsafe { self.compacted(along, &sequences) };
        }
        self.each_part(&sequences, sizes::SCAN_COLUMNS.limit(count(&sequences)), |part, sequences| {
            // SAFETY: this is a part of the sequences; the caller promises that every element is
            // allocated.
            unsafe { part.columns(along, sequences) }
        })
    }

    /// Calls `f` with passes over parts of the sequences, each small enough for one launch.
    fn each_part(
        &self,
        sequences: &[Dim<2>],
        most: usize,
        f: impl Fn(Pass<'_, R>, &[Dim<2>]) -> Result<()>,
    ) -> Result<()> {
        split(sequences, most, [0, 0], &mut |sequences, [src, dst]| {
            f(Pass { src: self.src.at(self.dtype, src), dst: self.dst.at(self.dtype, dst), ..*self }, sequences)
        })
    }

    /// Whether so many sequences keep every multiprocessor busy with one block per sequence.
    fn are_enough(&self, sequences: usize) -> bool {
        let enough = self.device.runtime().limits().multiprocessors as usize * 2;
        sizes::SCAN_ENOUGH.is_reached_or(sequences, enough)
    }

    /// # Safety
    /// Same as [`run`](Self::run), for contiguous sequences.
    unsafe fn rows(&self, n: usize, sequences: &[Dim<2>]) -> Result<()> {
        let count = count(sequences);
        let size = self.dtype.size_in_bytes();
        let vectors = |operand: usize, ptr: DevicePtr| {
            let steps = sequences.iter().fold(0, |all, d| all | d.stride[operand]);
            // Where the runs begin: reversed ones at the end.
            let start = if self.op.reverse { ptr.at(self.dtype, n) } else { ptr };
            u32::from((start.0 | (steps * size) as u64).is_multiple_of(16))
        };
        let team = n.div_ceil(RADIX).next_power_of_two().min(ROWS_BLOCK);
        let rows = Rows {
            n: n as u64,
            sequences: Index::new(sequences),
            count: count as u32,
            team_shift: team.ilog2(),
            tiles: Divisor::new(n.div_ceil(TILE)),
            src_vectors: vectors(0, self.src),
            dst_vectors: vectors(1, self.dst),
            reverse: self.op.reverse.into(),
            exclusive: self.op.exclusive.into(),
        };
        let launch = |variant, tiles: usize, to: DevicePtr| {
            let blocks = (count * tiles).div_ceil(ROWS_BLOCK / team) as u32;
            let launch = Launch::linear(key(self.op.op, self.dtype, variant), blocks, ROWS_BLOCK as u32);
            // SAFETY: the caller promises valid source and destination; there is space for every
            // tile.
            unsafe { launch.on(self.device, args![self.src, self.dst, to, rows]) }
        };
        let is_long = sizes::SCAN_LONG.is_reached(n);
        if !is_long && (!sizes::SCAN_SPREAD.is_reached(n) || self.are_enough(count)) {
            return launch(ROWS, 1, DevicePtr(0));
        }
        // One launch, whose blocks take tiles in turn and wait for the totals of those before
        // theirs, was tried: 64 Mi elements of f32 took 1,019 us instead of 221 on an H200.
        let tiles = n.div_ceil(TILE);
        let sums = accumulator(self.op.op, self.dtype);
        let totals = self.device.alloc(count * tiles, sums)?;
        launch(TOTALS, tiles, totals.ptr())?;
        let each = [Dim { size: count, stride: [tiles, tiles] }];
        let vectors = u32::from((totals.ptr().0 | (tiles * sums.size_in_bytes()) as u64).is_multiple_of(16));
        let before = Rows {
            n: tiles as u64,
            sequences: Index::new(&each),
            count: count as u32,
            team_shift: tiles.div_ceil(RADIX).next_power_of_two().min(ROWS_BLOCK).ilog2(),
            tiles: Divisor::new(1),
            src_vectors: vectors,
            dst_vectors: vectors,
            reverse: 0,
            exclusive: 0,
        };
        let blocks = count.div_ceil(ROWS_BLOCK >> before.team_shift) as u32;
        let (ptr, none) = (totals.ptr(), DevicePtr(0));
        // SAFETY: in place: 32 neighbours have read their runs before one of them writes to these,
        // and no other thread reads them.
        unsafe {
            Launch::linear(key(self.op.op, sums, BEFORE), blocks, ROWS_BLOCK as u32)
                .on(self.device, args![ptr, ptr, none, before])?;
        }
        launch(ROWS, tiles, totals.ptr())
    }

    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn columns(&self, along: Dim<2>, sequences: &[Dim<2>]) -> Result<()> {
        let n = along.size;
        let runs = n.div_ceil(RADIX).next_power_of_two().min(RADIX);
        let across = COLUMNS_BLOCK / runs;
        let pairs = self.in_pairs(along, sequences).filter(|_| {
            // Fewer blocks of twice the work would leave multiprocessors idle.
            let each_busy = self.device.runtime().limits().multiprocessors as usize + 1;
            sizes::SCAN_PAIRS.is_reached_or(count(sequences).div_ceil(across), each_busy)
        });
        let variant = if pairs.is_some() { COLUMN_PAIRS } else { COLUMNS };
        let sequences = pairs.as_deref().unwrap_or(sequences);
        let count = count(sequences);
        // A reversed scan starts at the last element and goes back.
        let start =
            |ptr: DevicePtr, step: usize| if self.op.reverse { ptr.at(self.dtype, (n - 1) * step) } else { ptr };
        let step = |step: usize| if self.op.reverse { -(step as i64) } else { step as i64 };
        let (src, dst) = (start(self.src, along.stride[0]), start(self.dst, along.stride[1]));
        let columns = Columns {
            n: n as u64,
            src_step: step(along.stride[0]),
            dst_step: step(along.stride[1]),
            sequences: Index::new(sequences),
            count: count as u32,
            across_shift: across.ilog2(),
            runs_shift: runs.ilog2(),
            exclusive: self.op.exclusive.into(),
        };
        let launch =
            Launch::linear(key(self.op.op, self.dtype, variant), count.div_ceil(across) as u32, COLUMNS_BLOCK as u32);
        // SAFETY: the caller promises valid source and destination.
        unsafe { launch.on(self.device, args![src, dst, columns]) }
    }

    /// Returns the pairs of adjacent sequences if every sequence has a partner, and every two
    /// elements side by side are one aligned access.
    fn in_pairs(&self, along: Dim<2>, sequences: &[Dim<2>]) -> Option<IndexDims<2>> {
        let mut pairs: IndexDims<2> = sequences.into();
        let last = pairs.last_mut().filter(|d| d.stride == [1, 1])?;
        *last = Dim { size: last.size / 2, stride: [2, 2] };
        let steps = pairs.iter().chain([&along]).fold(0, |all, d| all | d.stride[0] | d.stride[1]);
        let bytes = 2 * self.dtype.size_in_bytes() as u64;
        let fits =
            (steps | sequences.last()?.size).is_multiple_of(2) && (self.src.0 | self.dst.0).is_multiple_of(bytes);
        (has_pairs(self.dtype) && fits).then_some(pairs)
    }

    /// Computes few, long, strided sequences through contiguous copies: the columns kernel would
    /// leave most of the device idle.
    ///
    /// # Safety
    /// Same as [`run`](Self::run).
    unsafe fn compacted(&self, along: Dim<2>, sequences: &[Dim<2>]) -> Result<()> {
        let (n, all) = (along.size, count(sequences));
        let size = self.dtype.size_in_bytes();
        let dense = self.device.alloc(n * all, self.dtype)?;
        let mut step = n;
        let mut place: IndexDims<2> = sequences.into();
        for d in place.iter_mut().rev() {
            d.stride = [step, step];
            step *= d.size;
        }
        let copied = |operand: usize, dense_first: bool| -> IndexDims<2> {
            let pair = |given: usize, dense: usize| if dense_first { [dense, given] } else { [given, dense] };
            let dims = sequences.iter().zip(&place);
            let mut dims: IndexDims<2> =
                dims.map(|(s, p)| Dim { size: s.size, stride: pair(s.stride[operand], p.stride[0]) }).collect();
            dims.push(Dim { size: n, stride: pair(along.stride[operand], 1) });
            dims
        };
        // SAFETY: the caller promises a valid source; the copy has the same number of elements.
        unsafe { copy_walk(self.device, size, self.src, dense.ptr(), copied(0, false))? };
        let part = Pass { src: dense.ptr(), dst: dense.ptr(), ..*self };
        part.each_part(&place, most_rows(n, &place), |part, sequences| {
            // SAFETY: in place: 32 neighbours have read their runs before one of them writes to
            // these, and no other thread reads them.
            unsafe { part.rows(n, sequences) }
        })?;
        // SAFETY: the caller promises a valid destination.
        unsafe { copy_walk(self.device, size, dense.ptr(), self.dst, copied(1, true)) }
    }
}
