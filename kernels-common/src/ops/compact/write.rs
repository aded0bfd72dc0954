//! Writes the results of marked elements: elements, coordinates, or numbers of values.

use super::tiles::{Marks, each_launch};
use super::walk::{Walked, dims, is_wide, packs, walk};
use crate::args;
use crate::launch::elementwise::carrier;
use crate::launch::index::{Dim, Divisor, Index, MAX_RANK};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::compact::{BLOCK, COORDINATES, RANKS, SELECT, key};
use crate::ops::{copy, fill};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Layout, Op, Result, Scalar, Src};
use std::mem::offset_of;

/// The layout of the kernels' `Write`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Write {
    walk: Index<2>,
    n: u64,
    first: u64,
    tiles: u64,
    end: u64,
    step: u64,
    fill: u64,
    inner: u64,
    wide: u32,
    summed: u32,
    src_packs: u32,
    dst_packs: u32,
    flat: u32,
    unit: u32,
    units: Divisor,
}

const _: () = assert!(size_of::<Write>() == 328);
const _: () = assert!(offset_of!(Write, n) == 232 && offset_of!(Write, end) == 256);
const _: () = assert!(offset_of!(Write, inner) == 280 && offset_of!(Write, wide) == 288);
const _: () = assert!(offset_of!(Write, dst_packs) == 300 && offset_of!(Write, units) == 312);

impl Write {
    fn new<R: GpuRuntime>(marks: &Marks<R>, walk: &[Dim<2>]) -> Self {
        Self {
            walk: Index::new(walk),
            n: marks.n as u64,
            first: 0,
            tiles: marks.tiles as u64,
            end: 0,
            step: 0,
            fill: 0,
            inner: 1,
            wide: u32::from(is_wide(marks.n)),
            summed: u32::from(marks.summed),
            src_packs: 0,
            dst_packs: 0,
            flat: 0,
            unit: 0,
            units: Divisor::new(1),
        }
    }
}

impl<R: GpuRuntime> Marks<R> {
    /// Writes the marked ones of `src`, which has as many elements as were marked, to a destination
    /// of one dimension, and `fill` after the last.
    ///
    /// # Errors
    /// `OutOfMemory`, and the errors of launches.
    pub fn select(
        &self,
        (src, layout): (&GpuStorage<R>, &Layout),
        fill: Scalar,
        dst: &mut GpuStorage<R>,
        dst_layout: &Layout,
    ) -> Result<()> {
        let end = fill_beyond(self.n, fill, dst, dst_layout)?;
        let Walked { copy, start, dims } = walk(src, layout)?;
        let from = copy.as_ref().unwrap_or(src).ptr().at(src.dtype(), start);
        let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
        let step = dst_layout.stride()[0] as u64;
        let mut write = Write {
            end: end as u64,
            step,
            fill: fill.to_bits(),
            src_packs: u32::from(packs(&dims, from)),
            dst_packs: u32::from(step == 1 && to.0.is_multiple_of(16)),
            ..Write::new(self, &dims)
        };
        let key = key(carrier(dst.dtype()), SELECT);
        each_launch(self.tiles, |first, blocks| {
            write.first = first;
            let launch = Launch::linear(key, blocks, BLOCK as u32);
            // SAFETY: both layouts were validated against their buffers, and the kernel writes only
            // the first `end` elements of the destination, which has them.
            unsafe { launch.on(dst.device(), args![from, self.words, self.places(), to, write]) }
        })
    }

    /// Writes the coordinates of the marked elements of a tensor of a shape to the rows of a
    /// destination of two dimensions, and `fill` to the rows after the last.
    ///
    /// # Errors
    /// The errors of launches.
    pub fn coordinates(
        &self,
        shape: &[usize],
        fill: Scalar,
        dst: &mut GpuStorage<R>,
        dst_layout: &Layout,
    ) -> Result<()> {
        let end = fill_beyond(self.n, fill, dst, dst_layout)? as u64;
        let (step, column) = (dst_layout.stride()[0] as u64, dst_layout.stride()[1]);
        let key = key(carrier(dst.dtype()), COORDINATES);
        let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
        let rank = shape.len();
        let flat = rank <= MAX_RANK && step == rank as u64 && (rank == 1 || column == 1);
        // A walk has few dimensions; a launch writes their columns.
        for (part, sizes) in shape.chunks(MAX_RANK).enumerate() {
            let columns = part * MAX_RANK..part * MAX_RANK + sizes.len();
            let inner = shape[columns.end..].iter().product::<usize>() as u64;
            let dims: Vec<_> =
                sizes.iter().zip(columns).map(|(&size, d)| Dim { size, stride: [d * column, size] }).collect();
            let mut write = Write { end, step, fill: fill.to_bits(), inner, ..Write::new(self, &dims) };
            if write.wide == 0 && inner == 1 {
                let pairs =
                    flat && rank.is_multiple_of(2) && to.0.is_multiple_of(2 * dst.dtype().size_in_bytes() as u64);
                write.unit = if pairs { 2 } else { 1 };
                write.units = Divisor::new(dims.len() / write.unit as usize);
            }
            write.flat = u32::from(flat);
            write.dst_packs = u32::from(flat && to.0.is_multiple_of(16));
            each_launch(self.tiles, |first, blocks| {
                write.first = first;
                let launch = Launch::linear(key, blocks, BLOCK as u32);
                // SAFETY: the layout was validated against its buffer, and the kernel writes only
                // columns of the first `end` rows, which the destination has.
                unsafe { launch.on(dst.device(), args![self.words, self.places(), to, write]) }
            })?;
        }
        Ok(())
    }

    /// Writes for each element the number of the value that it belongs to, where marks tell at
    /// which elements values begin. `order` has the u32 position of each element in the
    /// destination.
    ///
    /// # Errors
    /// `OutOfMemory`, and the errors of launches.
    pub fn ranks(&self, order: &GpuStorage<R>, dst: &mut GpuStorage<R>, dst_layout: &Layout) -> Result<()> {
        let dims = dims(dst_layout);
        if sizes::WALK_RANK.is_exceeded(dims.len()) {
            let row = Layout::contiguous(dst_layout.shape());
            let mut ranks = dst.device().alloc(self.n, dst.dtype())?;
            self.ranks(order, &mut ranks, &row)?;
            return copy::apply_into(&Op::Copy, &[Src::Storage(&ranks, &row)], dst, dst_layout);
        }
        let to = dst.ptr().at(dst.dtype(), dst_layout.start_offset());
        let mut write = Write::new(self, &dims);
        let key = key(carrier(dst.dtype()), RANKS);
        each_launch(self.tiles, |first, blocks| {
            write.first = first;
            let launch = Launch::linear(key, blocks, BLOCK as u32);
            // SAFETY: the layout was validated against its buffer, and positions are below the
            // number of its elements.
            unsafe { launch.on(dst.device(), args![self.words, self.places(), order.ptr(), to, write]) }
        })
    }
}

/// Fills what a destination has along its first dimension beyond the number of elements, which no
/// mark can give, and returns the size of the rest.
fn fill_beyond<R: GpuRuntime>(n: usize, fill: Scalar, dst: &mut GpuStorage<R>, layout: &Layout) -> Result<usize> {
    let bound = layout.dims()[0];
    if bound > n {
        let beyond = layout.narrow(0, n, bound - n)?;
        fill::apply_into(&Op::Fill(fill), &[], dst, &beyond)?;
    }
    Ok(bound.min(n))
}
