//! Sorts the sources of a scatter by destination on the device (stable).

use super::scatter::Scatter;
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, count};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::indexing::{COUNT, KEYS, PLACE, SCAN, of_sort};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Result};
use std::mem::offset_of;

/// Threads per block, elements per tile and bits per digit; must match radix_sort.cu.
const BLOCK: usize = 256;
const TILE: usize = 2048;
const DIGIT_BITS: u32 = 8;

/// The layout of the kernels' `Keys`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Keys {
    lines: Index<4>,
    step: u64,
    place_step: u64,
    place: u64,
    n: Divisor,
    size: u32,
    from_end: u32,
    count: u32,
    nowhere: u32,
}

const _: () = assert!(size_of::<Keys>() == 416);
const _: () = assert!(offset_of!(Keys, step) == 360 && offset_of!(Keys, n) == 384);
const _: () = assert!(offset_of!(Keys, size) == 396);

/// Sources sorted by key, and by position if keys are equal. A key is the number of a destination
/// among those of all lines; `nowhere` follows the last one.
pub(super) struct Order<R: GpuRuntime> {
    pub(super) keys: GpuStorage<R>,
    pub(super) sources: GpuStorage<R>,
    pub(super) count: usize,
    pub(super) nowhere: usize,
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Sorts the sources of the lines that begin at an offset. There must be fewer than 2^31
    /// sources and destinations in total.
    ///
    /// # Safety
    /// Every id of the lines must be allocated.
    pub(super) unsafe fn order(&self, lines: &[Dim<4>], offset: [usize; 4]) -> Result<Order<R>> {
        let device = self.dst.device();
        let (sources, nowhere) = (count(lines) * self.n, count(lines) * self.size);
        let scratch = |len: usize| device.alloc(len, DType::U32);
        let mut from = (scratch(sources)?, scratch(sources)?);
        let mut to = (scratch(sources)?, scratch(sources)?);
        let tiles = sources.div_ceil(TILE);
        let (counts, totals) = (scratch(tiles << DIGIT_BITS)?, scratch(1 << DIGIT_BITS)?);
        let (n, tile_count) = (sources as u32, tiles as u32);
        // Threads that share the tiles of a digit. If there are few tiles, one block sums several
        // digits.
        let width = tiles.next_power_of_two().min(sizes::RADIX_TILES.limit(tiles));
        let log_width = width.ilog2();
        let parameters = Keys {
            lines: Index::new(lines),
            step: self.along[1] as u64,
            place_step: self.along[3] as u64,
            place: offset[3] as u64,
            n: Divisor::new(self.n),
            size: self.size as u32,
            from_end: self.from_end as u32,
            count: n,
            nowhere: nowhere as u32,
        };
        let [_, ids, _] = self.moved(offset, 0);
        let launch =
            |variant, ids: &[DType], blocks: usize| Launch::linear(of_sort(variant, ids), blocks as u32, BLOCK as u32);
        let (keys, order) = (from.0.ptr(), from.1.ptr());
        let arguments = args![ids, keys, order, parameters, self.flag];
        // SAFETY: the caller promises valid ids, and there is space for every key.
        unsafe { launch(KEYS, &[self.ids], sources.div_ceil(BLOCK)).on(device, arguments)? };
        let bits = usize::BITS - nowhere.leading_zeros();
        for shift in (0..bits).step_by(DIGIT_BITS as usize) {
            let ((keys, order), (keys_to, order_to)) = ((from.0.ptr(), from.1.ptr()), (to.0.ptr(), to.1.ptr()));
            let (counts, totals) = (counts.ptr(), totals.ptr());
            // SAFETY: the scratch memory has space for every key, for the digits of every tile, and
            // for their sums.
            unsafe {
                launch(COUNT, &[], tiles).on(device, args![keys, counts, n, shift])?;
                launch(SCAN, &[], (width << DIGIT_BITS) / BLOCK)
                    .on(device, args![counts, totals, tile_count, log_width])?;
                let arguments = args![keys, order, keys_to, order_to, counts, totals, n, shift];
                launch(PLACE, &[], tiles).on(device, arguments)?;
            }
            std::mem::swap(&mut from, &mut to);
        }
        Ok(Order { keys: from.0, sources: from.1, count: sources, nowhere })
    }
}
