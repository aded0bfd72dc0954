//! The kernel parameters, as sort_keys.cuh, tile.cu, merge.cuh and radix.cu declare them.

use crate::launch::index::{Dim, Divisor, Index, count};
use isobit_hal::{DType, Sort};
use std::mem::offset_of;

/// The layout of the kernels' `Order`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    kind: u32,
    descending: u32,
    largest: u64,
}

const _: () = assert!(size_of::<Order>() == 16);
const _: () = assert!(offset_of!(Order, largest) == 8);

impl Order {
    pub(crate) fn new(dtype: DType, sort: Sort) -> Self {
        const UNSIGNED: u32 = 0;
        const SIGNED: u32 = 1;
        const FLOAT: u32 = 2;
        let (kind, largest) = match dtype {
            _ if dtype.is_unsigned() => (UNSIGNED, 0),
            DType::F8E4M3 => (FLOAT, 0x7e),
            DType::F8E5M2 => (FLOAT, 0x7c),
            DType::F16 => (FLOAT, 0x7c00),
            DType::BF16 => (FLOAT, 0x7f80),
            DType::F32 => (FLOAT, 0x7f80_0000),
            DType::F64 => (FLOAT, 0x7ff0_0000_0000_0000),
            _ => (SIGNED, 0),
        };
        Self { kind, descending: u32::from(sort.descending), largest }
    }
}

/// What is written for a sorted element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Positions,
    Values,
}

/// The layout of the kernels' `SortRows`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    order: Order,
    rows: Index<2>,
    src_step: u64,
    dst_step: u64,
    length: u64,
    keep: u64,
    pub(super) count: u32,
    output: u32,
}

const _: () = assert!(size_of::<Rows>() == 288);
const _: () = assert!(offset_of!(Rows, rows) == 16 && offset_of!(Rows, src_step) == 248);
const _: () = assert!(offset_of!(Rows, count) == 280);

impl Rows {
    /// There must be fewer than 2^31 rows, of at most [`MAX_RANK`](crate::launch::index::MAX_RANK)
    /// dimensions. The steps are those in source and results; `keep` of `length` elements are
    /// wanted.
    pub(super) fn new(
        order: Order,
        rows: &[Dim<2>],
        steps: [usize; 2],
        [length, keep]: [usize; 2],
        output: Output,
    ) -> Self {
        let [src_step, dst_step] = steps.map(|step| step as u64);
        let (length, keep) = (length as u64, keep as u64);
        let (count, output, rows) = (count(rows) as u32, output as u32, Index::new(rows));
        Self { order, rows, src_step, dst_step, length, keep, count, output }
    }
}

/// The layout of the kernels' `Tiles`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles {
    rows: Rows,
    shift: u32,
    slices: u32,
    tiles: Divisor,
    run: u32,
    row_records: u64,
}

const _: () = assert!(size_of::<Tiles>() == 320);
const _: () = assert!(offset_of!(Tiles, shift) == 288 && offset_of!(Tiles, tiles) == 296);
const _: () = assert!(offset_of!(Tiles, run) == 308 && offset_of!(Tiles, row_records) == 312);

/// Returns the number of slices that a key is sorted by. A slice has the bits of a word that the
/// place does not need.
fn slices(dtype: DType, shift: u32) -> u32 {
    (8 * dtype.size_in_bytes() as u32).div_ceil(u32::BITS - shift)
}

impl Tiles {
    /// Puts each row in 2^`shift` places.
    pub(super) fn of_whole_rows(rows: Rows, shift: u32, dtype: DType) -> Self {
        Self { rows, shift, slices: slices(dtype, shift), tiles: Divisor::new(1), run: 0, row_records: 0 }
    }

    /// Divides each row into several tiles of 2^`log` places. The first `run` records of each tile
    /// are written, `row_records` per row.
    pub(super) fn of_parts(rows: Rows, log: u32, dtype: DType, tiles: usize, run: usize, row_records: usize) -> Self {
        Self {
            rows,
            shift: log,
            slices: slices(dtype, log),
            tiles: Divisor::new(tiles),
            run: run as u32,
            row_records: row_records as u64,
        }
    }
}

/// The layout of the kernels' `Merge`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    pub(super) rows: Rows,
    pub(super) runs: Divisor,
    pub(super) stretches: Divisor,
    pub(super) run_before: u64,
    pub(super) run_after: u64,
    pub(super) row_before: u64,
    pub(super) row_after: u64,
    pub(super) last: u32,
}

const _: () = assert!(size_of::<Merge>() == 352);
const _: () = assert!(offset_of!(Merge, runs) == 288 && offset_of!(Merge, run_before) == 312);
const _: () = assert!(offset_of!(Merge, last) == 344);
