//! Finds what a result keeps: a bit for each element, and how many are kept before each tile.

use super::walk::{Walked, is_wide, packs, walk};
use crate::args;
use crate::launch::elementwise::carrier;
use crate::launch::index::Index;
use crate::launch::{Launch, sizes};
use crate::manifest::instances::compact::{BLOCK, MARK, PLACES, PLACES_BLOCK, TILE, key};
use crate::ops::cast;
use crate::ops::reduce::reduce_rows;
use crate::ops::sort::Order;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, ReduceOp, Result, Sort};
use std::mem::offset_of;

/// The most tiles of a block that counts only.
const COUNTED_TILES: usize = 8;

/// The layout of the kernels' `Mark`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Mark {
    order: Order,
    walk: Index<2>,
    n: u64,
    first: u64,
    begins: u32,
    packs: u32,
    wide: u32,
    each: u32,
}

const _: () = assert!(size_of::<Mark>() == 280);
const _: () = assert!(offset_of!(Mark, walk) == 16 && offset_of!(Mark, n) == 248);
const _: () = assert!(offset_of!(Mark, begins) == 264 && offset_of!(Mark, each) == 276);

/// Which elements are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that are not 0.
    Nonzero,
    /// Those of a sorted row at which another value begins.
    Begins,
}

/// The marked elements of a tensor.
pub(super) struct Marks<R: GpuRuntime> {
    /// The number of elements.
    pub n: usize,
    /// The number of tiles, or of counts if nothing else is wanted.
    pub tiles: usize,
    /// A bit for each element of every tile.
    pub words: DevicePtr,
    /// Whether `places` has sums.
    pub summed: bool,
    /// The number of marks before each tile, and of all, as i64; or the number of marks of each of
    /// few tiles.
    places: GpuStorage<R>,
    _words: Option<GpuStorage<R>>,
}

/// Calls `f` with the first tile and the number of tiles of each launch.
///
/// # Errors
/// The errors of `f`.
pub(super) fn each_launch(tiles: usize, mut f: impl FnMut(u64, u32) -> Result<()>) -> Result<()> {
    let most = sizes::COMPACT_TILES.limit(tiles);
    (0..tiles).step_by(most).try_for_each(|first| f(first as u64, most.min(tiles - first) as u32))
}

/// Returns the number of tiles that a block takes which counts only: a few, if there are enough
/// for all multiprocessors.
fn tiles_of_block(tiles: usize) -> usize {
    (tiles / sizes::COMPACT_COUNTED.limit(tiles)).clamp(1, COUNTED_TILES)
}

impl<R: GpuRuntime> Marks<R> {
    /// Marks elements of a tensor that has some. If only their number is wanted, no bits are
    /// written. A row of which the beginnings are marked is contiguous.
    ///
    /// # Errors
    /// `OutOfMemory`, and the errors of launches.
    pub fn new(which: Which, src: &GpuStorage<R>, layout: &Layout, only_count: bool) -> Result<Self> {
        let Walked { copy, start, dims } = walk(src, layout)?;
        let (device, dtype, n) = (src.device(), src.dtype(), layout.elem_count());
        let from = copy.as_ref().unwrap_or(src).ptr().at(dtype, start);
        let each = if only_count { tiles_of_block(n.div_ceil(TILE)) } else { 1 };
        let tiles = n.div_ceil(TILE * each);
        let counts = device.alloc(tiles, DType::I64)?;
        let words = if only_count { None } else { Some(device.alloc(tiles * (TILE / 8), DType::U8)?) };
        let at = words.as_ref().map_or(DevicePtr(0), GpuStorage::ptr);
        let mut mark = Mark {
            order: Order::new(dtype, Sort::ascending()),
            walk: Index::new(&dims),
            n: n as u64,
            first: 0,
            begins: u32::from(which == Which::Begins),
            packs: u32::from(which == Which::Nonzero && packs(&dims, from)),
            wide: u32::from(is_wide(n)),
            each: each as u32,
        };
        each_launch(tiles, |first, blocks| {
            mark.first = first;
            let launch = Launch::linear(key(carrier(dtype), MARK), blocks, BLOCK as u32);
            // SAFETY: the layout was validated against its buffer, and there is a count and, unless
            // the address is 0, a word per thread for every tile.
            unsafe { launch.on(device, args![from, at, counts.ptr(), mark]) }
        })?;
        if only_count || !sizes::COMPACT_SUMMED.is_exceeded(tiles) {
            return Ok(Self { n, tiles, words: at, summed: false, places: counts, _words: words });
        }
        let places = device.alloc(tiles + 1, DType::I64)?;
        let threads = sizes::COMPACT_PLACES.limit_or(tiles + 1, PLACES_BLOCK);
        let rounds = (tiles + 1).div_ceil(threads);
        let part = rounds.div_ceil(sizes::COMPACT_PLACES_BLOCKS.limit(rounds)) * threads;
        let launch = Launch::linear(key(DType::I64, PLACES), (tiles + 1).div_ceil(part) as u32, threads as u32);
        // SAFETY: there is a count for every tile, and a place for each and behind the last.
        unsafe { launch.on(device, args![counts.ptr(), places.ptr(), tiles as u64, part as u64])? };
        Ok(Self { n, tiles, words: at, summed: true, places, _words: words })
    }

    /// Returns the address of the number of marks of each tile, or before it.
    pub fn places(&self) -> DevicePtr {
        self.places.ptr()
    }

    /// Writes the number of all marks, of which only the number is wanted: the sum of the tiles'.
    ///
    /// # Errors
    /// The errors of launches.
    pub fn count(&self, dst: &mut GpuStorage<R>, dst_layout: &Layout) -> Result<()> {
        let device = self.places.device();
        let all = device.alloc(1, DType::I64)?;
        // SAFETY: there is a count for every tile, and a place for their sum.
        unsafe { reduce_rows(device, ReduceOp::Sum, DType::I64, self.places.ptr(), all.ptr(), [1, self.tiles])? };
        cast::to_dtype_of(dst, dst_layout, &all, &Layout::contiguous(()))
    }
}
