//! Scatters whose result does not depend on the order, by atomics where the destinations are.

use super::gather::{BLOCK, BLOCK_ELEMENTS, Each};
use super::in_order;
use super::scatter::Scatter;
use crate::args;
use crate::key::Key;
use crate::launch::index::{Dim, Index, IndexDims, count, split};
use crate::launch::{Launch, sizes};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Layout, Result};

/// Bytes of the smallest atomics.
const WORD: usize = 4;

/// Returns whether the words that hold the elements of a destination hold nothing else: smaller
/// elements change in their word, also those at the end of memory that someone else allocated.
pub(super) fn has_whole_words<R: GpuRuntime>(dst: &GpuStorage<R>, layout: &Layout) -> bool {
    let size = dst.dtype().size_in_bytes();
    let bits = dst.ptr().0 | (dst.len() * size) as u64;
    size >= WORD || (layout.elem_count() == dst.len() && bits.is_multiple_of(WORD as u64))
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Combines along the lines of some dimensions, in any order.
    ///
    /// If neighbouring lines are closer than the elements of one (not `nearest`), they are walked
    /// in strips, so that the destinations at work at a time fit the cache: for all of 4096 lines
    /// of 16384 elements at once, each access would go to memory.
    ///
    /// # Safety
    /// Every element of the lines must be allocated, and no element of the destination may occur
    /// twice.
    pub(super) unsafe fn in_place(&self, key: Key, others: IndexDims<4>, nearest: bool) -> Result<()> {
        let [_, ids, src, places] = self.along;
        let along = Dim { size: self.n, stride: [0, ids, src, places] };
        let mut outer = in_order(others);
        let inner = if nearest { None } else { outer.pop() };
        let Some(inner) = inner else {
            // SAFETY: these are all elements of the lines.
            return unsafe { self.each_in_place(key, &outer, &[along], [0; 4]) };
        };
        let strip = sizes::IN_PLACE_STRIP.limit(inner.size).min(inner.size);
        let (strips, rest) = (inner.size / strip, inner.size % strip);
        let part = |size| Dim { size, ..inner };
        let of_strips = Dim { size: strips, stride: inner.stride.map(|s| s * strip) };
        // SAFETY: the whole strips and what is left of the lines are all their elements.
        unsafe {
            self.each_in_place(key, &outer, &[of_strips, along, part(strip)], [0; 4])?;
            self.each_in_place(key, &outer, &[along, part(rest)], inner.along([0; 4], strips * strip))
        }
    }

    /// # Safety
    /// Same as [`in_place`](Self::in_place), for the elements of these dimensions.
    unsafe fn each_in_place(&self, key: Key, outer: &[Dim<4>], inner: &[Dim<4>], offset: [usize; 4]) -> Result<()> {
        let dims: IndexDims<4> = outer.iter().chain(inner).copied().filter(|d| d.size != 1).collect();
        let n = count(&dims);
        if n == 0 {
            return Ok(());
        }
        split(&dims, sizes::IN_PLACE.limit(n), offset, &mut |dims, offset| {
            let n = count(dims);
            let parameters = Each {
                index: Index::new(dims),
                place: offset[3] as u64,
                size: self.size as u64,
                step: self.along[0] as u64,
                from_end: self.from_end as u64,
                n: n as u32,
            };
            let [dst, ids, src] = self.moved(offset, self.dst.dtype().size_in_bytes());
            let launch = Launch::linear(key, n.div_ceil(BLOCK_ELEMENTS) as u32, BLOCK);
            // SAFETY: this is a part of the lines, for which the caller promises that every element
            // is allocated; the kernel checks the ids.
            unsafe { launch.on(self.dst.device(), args![dst, ids, src, parameters, self.flag]) }
        })
    }
}
