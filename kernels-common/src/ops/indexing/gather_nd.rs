//! Gathers slices that tuples of ids name. If the tuples are short and the slices few units, one
//! kernel does it all: for 16 Mi pairs of i64, positions in memory would double what is moved.
//! Otherwise tuples become positions first.

use super::gather::Operands;
use super::tuples::{Ids, flattened, places};
use crate::launch::index::{Dim, IndexDims, push};
use crate::launch::{rows, sizes};
use crate::manifest::instances::indexing::{GATHER_ND, GATHER_ND_16, carrier, with_ids};
use crate::ops::{copy, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};
use std::cmp::Reverse;

/// The units of the result of a gather.
struct Walk {
    /// Ids, their places, source, and destination, in units of `unit` bytes.
    dims: IndexDims<4>,
    /// The steps in the source from one element of an indexed dimension to the next.
    along: Vec<usize>,
    unit: usize,
    src: DevicePtr,
    dst: DevicePtr,
}

impl Walk {
    /// Describes a gather by tuples of `depth` ids; returns `None` if tuples or slices are too long
    /// for one kernel.
    fn of<R: GpuRuntime>(
        ids: &Ids<'_, R>,
        depth: usize,
        (src, from): (&GpuStorage<R>, &Layout),
        (dst, to): (&GpuStorage<R>, &Layout),
    ) -> Option<Self> {
        if sizes::TUPLES_IDS.is_exceeded(depth) {
            return None;
        }
        let tuples = ids.layout.dims().len() - 1;
        let shared = from.dims().len() - depth - (to.dims().len() - tuples);
        let mut along = from.stride()[shared..shared + depth].to_vec();
        let dim_of = |d: usize| {
            let stride = match d.checked_sub(tuples) {
                None => [ids.layout.stride()[d], ids.places[d], if d < shared { from.stride()[d] } else { 0 }],
                Some(of_slice) => [0, 0, from.stride()[shared + depth + of_slice]],
            };
            Dim { size: to.dims()[d], stride: [stride[0], stride[1], stride[2], to.stride()[d]] }
        };
        let mut dims: IndexDims<4> = (0..to.dims().len()).map(dim_of).filter(|d| d.size != 1).collect();
        dims.sort_by_key(|d| Reverse(d.stride[3]));
        let (mut unit, mut slice) = (dst.dtype().size_in_bytes(), to.dims()[tuples..].iter().product::<usize>());
        let (src, dst) = (src.ptr().at(src.dtype(), from.start_offset()), dst.ptr().at(dst.dtype(), to.start_offset()));
        if let [outer @ .., Dim { size: run, stride: [0, _, 1, 1] }] = &mut dims[..]
            && slice > 1
        {
            // As in a gather by single ids, runs move in the largest units.
            let steps = outer.iter().fold(*run, |all, d| all | d.stride[2] | d.stride[3]);
            let steps = along.iter().fold(steps, |all, step| all | step);
            let by = rows::unit(unit, steps as u64, src.0 | dst.0) / unit;
            outer.iter_mut().for_each(|d| (d.stride[2], d.stride[3]) = (d.stride[2] / by, d.stride[3] / by));
            along.iter_mut().for_each(|step| *step /= by);
            *run /= by;
            slice /= by;
            unit *= by;
        }
        if sizes::GATHER_ND_UNITS.is_exceeded(slice) {
            return None;
        }
        let mut merged = IndexDims::new();
        dims.into_iter().for_each(|d| push(&mut merged, d));
        Some(Self { dims: merged, along, unit, src, dst })
    }

    /// # Safety
    /// Every element of the walk must be allocated in destination and ids, and in the source at
    /// each position.
    unsafe fn run<R: GpuRuntime>(&self, ids: &Ids<'_, R>, sizes_of: &[usize]) -> Result<()> {
        let dtype = ids.storage.dtype();
        let key = match self.unit {
            16 => with_ids(GATHER_ND_16, DType::I64, dtype),
            unit => with_ids(GATHER_ND, carrier(unit), dtype),
        };
        // SAFETY: the caller promises that every element of the walk is allocated.
        unsafe { ids.run_whole(key, &self.dims, (sizes_of, &self.along), self.src, (self.dst, self.unit)) }
    }
}

/// Runs `gather_nd`.
pub(super) fn gather<R: GpuRuntime>(
    op: &Op,
    batch_dims: usize,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let ((src, src_layout), (ids, ids_layout)) = (stored(srcs, 0), stored(srcs, 1));
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let tuples = ids_layout.dims().len() - 1;
    let indexed = batch_dims + ids_layout.dims()[tuples];
    let flag = dst.device().index_faults(op, [ids_layout.dims(), src_layout.dims()])?;
    let (shared, sizes) = src_layout.dims()[..indexed].split_at(batch_dims);
    let ids = Ids { op, storage: ids, layout: ids_layout, places: places(ids_layout), flag: flag.ptr() };
    if let Some(walk) = Walk::of(&ids, sizes.len(), (src, src_layout), (dst, dst_layout)) {
        // SAFETY: the layouts were validated against their buffers.
        return unsafe { walk.run(&ids, sizes) };
    }
    let positions = ids.positions(shared, sizes)?;
    let flat = flattened(src_layout.dims(), indexed);
    let copied;
    let (src, src_layout) = match src_layout.reshape(flat.clone()) {
        Ok(layout) => (src, layout),
        Err(_) => {
            copied = copy::contiguous(src, src_layout)?;
            (&copied, Layout::contiguous(flat))
        }
    };
    let of_tuples = Layout::contiguous(&dst_layout.dims()[..tuples]);
    let dim_of = |d: usize| {
        let (id, from) = match d.checked_sub(tuples) {
            None => (of_tuples.stride()[d], 0),
            Some(of_slice) => (0, src_layout.stride()[1 + of_slice]),
        };
        Dim { size: dst_layout.dims()[d], stride: [dst_layout.stride()[d], id, from, 0] }
    };
    let operands = Operands {
        at: [
            dst.ptr().at(dst.dtype(), dst_layout.start_offset()),
            positions.ptr(),
            src.ptr().at(src.dtype(), src_layout.start_offset()),
        ],
        dst,
        ids: DType::I64,
        from_end: 0,
        flag: flag.ptr(),
    };
    let (size, step) = (src_layout.dims()[0], src_layout.stride()[0]);
    // SAFETY: the layouts were validated against their buffers, or are those of a copy, and every
    // position is one of the source or padding.
    unsafe { operands.any(size, step, (0..dst_layout.dims().len()).map(dim_of).collect()) }
}
