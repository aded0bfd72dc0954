//! Scatters from sorted sources: slices that share an id move together, in the largest possible
//! units.

use super::in_order;
use super::order::Order;
use super::scatter::Scatter;
use crate::args;
use crate::launch::index::{Dim, Divisor, Index, IndexDims, count, split};
use crate::launch::{Launch, rows, sizes};
use crate::manifest::instances::indexing::{
    SORTED_COMBINE, SORTED_COMBINE_PACKS, SORTED_SET, SORTED_SET_16, carrier, of_values, sorted_combine,
};
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{BackendStorage, DType, Result};
use std::mem::offset_of;

/// Threads per block; must match sorted.cuh.
const BLOCK: usize = 256;

/// The layout of the kernels' `Sorted`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Sorted {
    lines: Index<2>,
    slice: Index<2>,
    dst_step: u64,
    src_step: u64,
    n: Divisor,
    size: Divisor,
    count: u32,
    nowhere: u32,
    width: u32,
    across_shift: u32,
    strips: Divisor,
}

const _: () = assert!(size_of::<Sorted>() == 536);
const _: () = assert!(offset_of!(Sorted, slice) == 232 && offset_of!(Sorted, dst_step) == 464);
const _: () = assert!(offset_of!(Sorted, n) == 480 && offset_of!(Sorted, count) == 504);
const _: () = assert!(offset_of!(Sorted, strips) == 520);

/// Returns a dimension of destination and source alone.
fn moved(dim: &Dim<4>) -> Dim<2> {
    Dim { size: dim.size, stride: [dim.stride[0], dim.stride[2]] }
}

impl<R: GpuRuntime> Scatter<'_, R> {
    /// Scatters sorted sources. `slice` are the dimensions along which all elements share one id.
    ///
    /// # Safety
    /// Every element of the lines and slices must be allocated, and no element of the destination
    /// may occur twice.
    pub(super) unsafe fn sorted(&self, lines: &[Dim<4>], slice: IndexDims<4>) -> Result<()> {
        let slice = in_order(slice.iter().map(moved).collect());
        let of_line = self.n.max(self.size).max(1);
        let most = sizes::SORTED.limit(of_line.saturating_mul(count(lines))) / of_line;
        split(lines, most.max(1), [0; 4], &mut |lines, offset| {
            // SAFETY: this is a part of the lines, for which the caller promises that every element
            // of the lines and slices is allocated and no element of the destination occurs twice.
            unsafe {
                let order = self.order(lines, offset)?;
                self.move_slices(&order, lines, offset, &slice)
            }
        })
    }

    /// # Safety
    /// Same as [`sorted`](Self::sorted), and `order` must be the order of these lines.
    unsafe fn move_slices(
        &self,
        order: &Order<R>,
        lines: &[Dim<4>],
        offset: [usize; 4],
        slice: &[Dim<2>],
    ) -> Result<()> {
        let dtype = self.dst.dtype();
        let mut lines: IndexDims<2> = lines.iter().map(moved).collect();
        let mut slice: IndexDims<2> = slice.into();
        let (mut along, mut unit) = (self.along, dtype.size_in_bytes());
        let [dst, _, src] = self.moved(offset, unit);
        if let [outer @ .., Dim { size: run, stride: [1, 1] }] = &mut slice[..] {
            let steps = lines.iter().fold(along[0] | along[2] | *run, |all, d| all | d.stride[0] | d.stride[1]);
            let steps = outer.iter().fold(steps, |all, d| all | d.stride[0] | d.stride[1]);
            let largest = rows::unit(unit, steps as u64, dst.0 | src.0);
            // Elements are combined in full packs of 16 bytes, or one by one.
            let by = if self.sets() || largest == 16 { largest / unit } else { 1 };
            outer.iter_mut().for_each(|d| d.stride = d.stride.map(|s| s / by));
            lines.iter_mut().for_each(|d| d.stride = d.stride.map(|s| s / by));
            (along[0], along[2]) = (along[0] / by, along[2] / by);
            *run /= by;
            unit *= by;
        }
        let key = match (self.sets(), unit) {
            (true, 16) => of_values(SORTED_SET_16, DType::I64),
            (true, _) => of_values(SORTED_SET, carrier(unit)),
            (false, 16) => sorted_combine(self.combine, dtype, SORTED_COMBINE_PACKS),
            (false, _) => sorted_combine(self.combine, dtype, SORTED_COMBINE),
        };
        let blocks = |width: usize| {
            let across = width.next_power_of_two().min(BLOCK);
            (order.count.div_ceil(BLOCK / across), width.div_ceil(across), across)
        };
        let all = |width: usize| {
            let (groups, strips, _) = blocks(width);
            groups.saturating_mul(strips)
        };
        let most_blocks = sizes::SORTED_BLOCKS.limit(all(count(&slice)));
        let most = (1..=31).map(|shift| 1usize << shift).take_while(|&width| all(width) <= most_blocks);
        split(&slice, most.last().unwrap_or(1), [0; 2], &mut |slice, [to, from]| {
            let (groups, strips, across) = blocks(count(slice));
            let parameters = Sorted {
                lines: Index::new(&lines),
                slice: Index::new(slice),
                dst_step: along[0] as u64,
                src_step: along[2] as u64,
                n: Divisor::new(self.n),
                size: Divisor::new(self.size.max(1)),
                count: order.count as u32,
                nowhere: order.nowhere as u32,
                width: count(slice) as u32,
                across_shift: across.ilog2(),
                strips: Divisor::new(strips),
            };
            let at = |start: DevicePtr, units: usize| DevicePtr(start.0 + (units * unit) as u64);
            let (to, from, keys, sources) = (at(dst, to), at(src, from), order.keys.ptr(), order.sources.ptr());
            let launch = Launch::linear(key, (groups * strips) as u32, BLOCK as u32);
            // SAFETY: this is a part of what the caller promises, and the order has a key and a
            // source for each item.
            unsafe { launch.on(self.dst.device(), args![to, from, keys, sources, parameters]) }
        })
    }
}
