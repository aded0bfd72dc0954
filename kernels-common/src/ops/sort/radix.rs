//! Sorts long rows by one digit of the keys after the other, in a fixed number of passes. Scatters
//! sort their sources with it too.

use super::rows::{Order, Output, Rows};
use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::elementwise::carrier;
use crate::launch::index::{Dim, Divisor, IndexDims, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::sort::{RADIX_COUNT, RADIX_PLACE, RADIX_SCAN, key};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{DType, Result};
use std::mem::offset_of;

/// Threads per block; must match radix.cu.
const BLOCK: usize = 256;
/// Elements per tile; must match radix.cu.
pub(super) const TILE: usize = 2048;
const DIGIT_BITS: u32 = 8;

/// The layout of the kernels' `Digits`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Digits {
    rows: Rows,
    tiles: Divisor,
    shift: u32,
}

const _: () = assert!(size_of::<Digits>() == 304);
const _: () = assert!(offset_of!(Digits, tiles) == 288 && offset_of!(Digits, shift) == 300);

/// Returns the kernels that a sort by digits launches for a dtype.
pub(crate) fn keys(dtype: DType) -> impl Iterator<Item = Key> {
    [RADIX_COUNT, RADIX_SCAN, RADIX_PLACE].into_iter().map(move |variant| key(carrier(dtype), variant))
}

/// Returns the passes over keys of so many bits.
pub(super) const fn passes(bits: u32) -> u32 {
    bits.div_ceil(DIGIT_BITS)
}

/// A stable sort of rows by the lowest `bits` of the keys, which are at least 1.
pub(crate) struct Radix<'a, R: GpuRuntime> {
    pub(crate) device: &'a GpuDevice<R>,
    pub(crate) dtype: DType,
    pub(crate) order: Order,
    pub(crate) bits: u32,
    /// The rows, which together have fewer than 2^24 tiles.
    pub(crate) rows: &'a [Dim<2>],
    /// The step from one element of a row to the next, in source and results.
    pub(crate) steps: [usize; 2],
    /// Elements per row, fewer than 2^32.
    pub(crate) length: usize,
}

/// What a pass moves. A null pointer stands for what it does not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) elements: DevicePtr,
    pub(crate) positions: DevicePtr,
}

impl<R: GpuRuntime> Radix<'_, R> {
    /// Writes the sorted elements, their positions in the row, or both: what is not null.
    ///
    /// # Safety
    /// Every element of the rows, and every result that is not null, must be allocated.
    pub(crate) unsafe fn run(&self, src: DevicePtr, results: Moved) -> Result<()> {
        let (rows, tiles) = (count(self.rows), self.length.div_ceil(TILE));
        let counts = self.device.alloc((rows * tiles) << DIGIT_BITS, DType::U32)?;
        let totals = self.device.alloc(rows << DIGIT_BITS, DType::U32)?;
        let passes = passes(self.bits);
        let scratch = |_| Scratch::new(self, rows * self.length, results.positions.0 != 0);
        let scratch: Vec<_> = (1..passes.min(3)).map(scratch).collect::<Result<_>>()?;
        let mut from = Moved { elements: src, positions: DevicePtr(0) };
        for pass in 0..passes {
            let to = if pass + 1 == passes { results } else { scratch[pass as usize % 2].moved() };
            let digits = Digits {
                rows: self.rows_of([pass > 0, pass + 1 < passes]),
                tiles: Divisor::new(tiles),
                shift: pass * DIGIT_BITS,
            };
            // SAFETY: the caller promises the rows and the results, and the scratch memory has
            // space for all rows. It returns to the pool, which reuses it in stream order.
            unsafe { self.pass(from, to, digits, [&counts, &totals])? };
            from = to;
        }
        Ok(())
    }

    /// Returns the rows of a pass whose source, results or both are in scratch memory, one row
    /// after the other.
    fn rows_of(&self, in_scratch: [bool; 2]) -> Rows {
        let mut dims: IndexDims<2> = self.rows.into();
        let mut steps = self.steps;
        for operand in (0..2).filter(|&operand| in_scratch[operand]) {
            steps[operand] = 1;
            let mut stride = self.length;
            for dim in dims.iter_mut().rev() {
                dim.stride[operand] = stride;
                stride *= dim.size;
            }
        }
        Rows::new(self.order, &dims, steps, [self.length; 2], Output::Values)
    }

    /// Sorts by one digit.
    ///
    /// # Safety
    /// Every element and position of the rows must be allocated in `from` and in `to`.
    unsafe fn pass(&self, from: Moved, to: Moved, digits: Digits, [counts, totals]: [&GpuStorage<R>; 2]) -> Result<()> {
        let (rows, tiles) = (digits.rows.count, self.length.div_ceil(TILE));
        let launch = |variant, blocks| Launch::linear(key(carrier(self.dtype), variant), blocks, BLOCK as u32);
        // Threads that share the tiles of a digit. If there are few tiles, one block sums several
        // digits.
        let width = tiles.next_power_of_two().min(sizes::SORT_RADIX_TILES.limit(tiles));
        let (blocks, tiles) = (rows * tiles as u32, tiles as u32);
        let (log_width, scan_blocks) = (width.ilog2(), rows * ((width << DIGIT_BITS) / BLOCK) as u32);
        let (counts, totals) = (counts.ptr(), totals.ptr());
        // SAFETY: the caller promises the elements and positions, and there is space for the digits
        // of every tile and for their sums.
        unsafe {
            launch(RADIX_COUNT, blocks).on(self.device, args![from.elements, counts, digits])?;
            launch(RADIX_SCAN, scan_blocks).on(self.device, args![counts, totals, tiles, log_width])?;
            let arguments = args![from.elements, from.positions, to.elements, to.positions, counts, totals, digits];
            launch(RADIX_PLACE, blocks).on(self.device, arguments)
        }
    }
}

/// Memory for what one pass leaves to the next.
struct Scratch<R: GpuRuntime> {
    elements: GpuStorage<R>,
    positions: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Scratch<R> {
    fn new(sort: &Radix<'_, R>, len: usize, has_positions: bool) -> Result<Self> {
        let positions = has_positions.then(|| sort.device.alloc(len, DType::U32)).transpose()?;
        Ok(Self { elements: sort.device.alloc(len, sort.dtype)?, positions })
    }

    fn moved(&self) -> Moved {
        let positions = self.positions.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
        Moved { elements: self.elements.ptr(), positions }
    }
}
