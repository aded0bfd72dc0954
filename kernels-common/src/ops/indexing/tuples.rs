//! Tuples of ids: one kernel turns each into a position in the flattened dimensions that it
//! indexes, as an i64, and the kernels for single ids do the rest, unless one takes the tuples
//! itself. A tensor whose dimensions cannot be flattened in place is copied.
//!
//! Ids along one dimension are tuples of one id. So this also makes i64 of ids for kernels that
//! take no others.

use super::in_place::has_whole_words;
use super::scatter::Scatter;
use crate::args;
use crate::key::Key;
use crate::launch::index::{Dim, Index, IndexDims, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::indexing::{TUPLES, in_place_nd, of_ids};
use crate::ops::{copy, stored};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Result, ScatterOp, Src};
use std::mem::offset_of;

/// Threads per block, and ids of a tuple in one launch; must match tuples.cuh.
pub(super) const BLOCK: usize = 256;
const IDS: usize = 8;
/// Tuples per block of the kernels that take them whole; must match tuples_ahead.cuh.
const BLOCK_TUPLES: usize = 4 * BLOCK;

/// The layout of the kernels' `Tuples`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuples {
    tuples: Index<4>,
    place: u64,
    start: u64,
    step: u64,
    place_step: u64,
    size: [u64; IDS],
    along: [u64; IDS],
    ids: u32,
    pub(super) n: u32,
    negative: u32,
    resumes: u32,
    /// Whether a kernel that takes tuples whole loads ids in pairs.
    pub(super) pairs: u32,
}

const _: () = assert!(size_of::<Tuples>() == 544);
const _: () = assert!(offset_of!(Tuples, place) == 360 && offset_of!(Tuples, size) == 392);
const _: () = assert!(offset_of!(Tuples, along) == 456 && offset_of!(Tuples, ids) == 520);
const _: () = assert!(offset_of!(Tuples, pairs) == 536);

/// A tensor of ids whose last dimension holds tuples.
pub(super) struct Ids<'a, R: GpuRuntime> {
    pub(super) op: &'a Op,
    pub(super) storage: &'a GpuStorage<R>,
    pub(super) layout: &'a Layout,
    /// The strides of the places of the ids in row-major order.
    pub(super) places: Dims,
    pub(super) flag: DevicePtr,
}

impl<R: GpuRuntime> Ids<'_, R> {
    /// Returns the position of each tuple in the flattened dimensions `shared` and `sizes`: tuple
    /// by tuple in row-major order, with i64::MAX for padding. The first dimensions of the ids are
    /// those that the tensor shares.
    pub(super) fn positions(&self, shared: &[usize], sizes: &[usize]) -> Result<GpuStorage<R>> {
        let (last, dtype) = (self.layout.dims().len() - 1, self.storage.dtype());
        let (dims, places) = (&self.layout.dims()[..last], &self.places);
        let to = Layout::contiguous(dims);
        let positions = self.storage.device().alloc(to.elem_count().max(1), DType::I64)?;
        if to.elem_count() == 0 {
            return Ok(positions);
        }
        let along = Layout::contiguous([shared, sizes].concat());
        let (of_shared, along) = along.stride().split_at(shared.len());
        let mut walk: IndexDims<4> = IndexDims::new();
        for (d, &size) in dims.iter().enumerate() {
            let start = of_shared.get(d).copied().unwrap_or(0);
            push(&mut walk, Dim { size, stride: [self.layout.stride()[d], places[d], start, to.stride()[d]] });
        }
        let first = self.storage.ptr().at(dtype, self.layout.start_offset());
        let at_once = sizes::TUPLES_IDS.limit(sizes.len());
        // Tuples of no ids have a position too.
        for from in (0..sizes.len().max(1)).step_by(at_once) {
            let ids = (sizes.len() - from).min(at_once);
            split(&walk, sizes::TUPLES.limit(count(&walk)), [0; 4], &mut |walk, offset| {
                let these = from..from + ids;
                let parameters = self.parameters(walk, offset, from, &sizes[these.clone()], &along[these]);
                let n = parameters.n as usize;
                let ids = DevicePtr(first.at(dtype, offset[0] + from * self.layout.stride()[last]).0);
                let to = positions.ptr().at(DType::I64, offset[3]);
                let launch = Launch::linear(of_ids(TUPLES, dtype), n.div_ceil(BLOCK) as u32, BLOCK as u32);
                // SAFETY: the layout was validated against its buffer, this is a part of its walk,
                // and there is space for the position of every tuple.
                unsafe { launch.on(self.storage.device(), args![ids, to, parameters, self.flag]) }
            })?;
        }
        Ok(positions)
    }

    /// Returns the parameters of a launch over a part of a walk, for the ids of each tuple from
    /// number `from` on whose dimensions have these sizes and steps.
    pub(super) fn parameters(
        &self,
        walk: &[Dim<4>],
        offset: [usize; 4],
        from: usize,
        sizes: &[usize],
        along: &[usize],
    ) -> Tuples {
        let (last, places) = (self.layout.dims().len() - 1, &self.places);
        let of = |values: &[usize]| std::array::from_fn(|k| values.get(k).copied().unwrap_or(0) as u64);
        Tuples {
            tuples: Index::new(walk),
            place: (offset[1] + from * places[last]) as u64,
            start: offset[2] as u64,
            step: self.layout.stride()[last] as u64,
            place_step: places[last] as u64,
            size: of(sizes),
            along: of(along),
            ids: sizes.len() as u32,
            n: count(walk) as u32,
            negative: u32::from(self.op.has_negative_ids()),
            resumes: u32::from(from > 0),
            pairs: 0,
        }
    }

    /// Runs a kernel that takes tuples whole over a walk: from `indexed`, where the ids give the
    /// positions, and from `walked`, at the walk's last strides in units of so many bytes.
    ///
    /// # Safety
    /// The ids of the walk must be allocated, and the elements at all positions and offsets.
    pub(super) unsafe fn run_whole(
        &self,
        key: Key,
        walk: &[Dim<4>],
        (sizes_of, along): (&[usize], &[usize]),
        indexed: DevicePtr,
        (walked, unit): (DevicePtr, usize),
    ) -> Result<()> {
        let dtype = self.storage.dtype();
        let size = dtype.size_in_bytes();
        let first = self.storage.ptr().at(dtype, self.layout.start_offset());
        let steps = walk.iter().fold(0, |all, d| all | d.stride[0]);
        let pairs = sizes_of.len().is_multiple_of(2)
            && self.layout.stride().last() == Some(&1)
            && (first.0 | (steps * size) as u64).is_multiple_of(2 * size as u64);
        split(walk, sizes::TUPLES.limit(count(walk)), [0; 4], &mut |walk, offset| {
            let mut parameters = self.parameters(walk, offset, 0, sizes_of, along);
            parameters.pairs = u32::from(pairs);
            let (ids, walked) = (first.at(dtype, offset[0]), DevicePtr(walked.0 + (offset[3] * unit) as u64));
            let launch = Launch::linear(key, count(walk).div_ceil(BLOCK_TUPLES) as u32, BLOCK as u32);
            // SAFETY: this is a part of the walk, for which the caller promises that every element
            // is allocated; the kernel checks the ids.
            unsafe { launch.on(self.storage.device(), args![indexed, ids, walked, parameters, self.flag]) }
        })
    }

    /// Combines the elements at the tuples' positions with those of the source, in any order.
    ///
    /// # Safety
    /// The elements of both layouts must be allocated, and none of the destination may occur twice.
    unsafe fn in_place(
        &self,
        key: Key,
        sizes_of: &[usize],
        (src, from): (&GpuStorage<R>, &Layout),
        (dst, to): (&GpuStorage<R>, &Layout),
    ) -> Result<()> {
        let tuples = self.layout.dims().len() - 1;
        let (along, of_slice) = to.stride().split_at(sizes_of.len());
        let mut walk: IndexDims<4> = IndexDims::new();
        for (d, (&size, &of_src)) in from.dims().iter().zip(from.stride()).enumerate() {
            let stride = match d.checked_sub(tuples) {
                None => [self.layout.stride()[d], self.places[d], 0, of_src],
                Some(d) => [0, 0, of_slice[d], of_src],
            };
            push(&mut walk, Dim { size, stride });
        }
        let dtype = dst.dtype();
        let to = dst.ptr().at(dtype, to.start_offset());
        let from = (src.ptr().at(dtype, from.start_offset()), dtype.size_in_bytes());
        // SAFETY: the caller promises that every element of both layouts is allocated.
        unsafe { self.run_whole(key, &walk, (sizes_of, along), to, from) }
    }
}

/// Returns the strides of the places of ids in row-major order. Ids that are the same element have
/// the place of the first one.
pub(super) fn places(layout: &Layout) -> Dims {
    let mut places = layout.shape().stride_contiguous();
    places.iter_mut().zip(layout.stride()).filter(|(_, s)| **s == 0).for_each(|(place, _)| *place = 0);
    places
}

/// Returns ids along a dimension of `size` as valid i64 ids or padding, in the same shape. Those
/// that are the same element stay so.
pub(super) fn widened<R: GpuRuntime>(
    op: &Op,
    size: usize,
    (ids, layout): (&GpuStorage<R>, &Layout),
    flag: DevicePtr,
) -> Result<(GpuStorage<R>, Layout)> {
    let kept: Dims = layout.dims().iter().zip(layout.stride()).map(|(&d, &s)| if s == 0 { 1 } else { d }).collect();
    let with_last = |values: &[usize]| -> Dims { values.iter().copied().chain([1]).collect() };
    let places = with_last(&places(layout));
    let tuples = Layout::new(with_last(&kept), with_last(layout.stride()), layout.start_offset())?;
    let positions = Ids { op, storage: ids, layout: &tuples, places, flag }.positions(&[], &[size])?;
    Ok((positions, Layout::contiguous(kept).broadcast_as(layout.dims())?))
}

/// Returns a shape whose first dimensions are one.
pub(super) fn flattened(shape: &[usize], first: usize) -> Dims {
    let mut flat = Dims::from_elem(shape[..first].iter().product(), 1);
    flat.extend_from_slice(&shape[first..]);
    flat
}

/// Runs `scatter_nd`, into a destination that already holds the first operand's elements.
pub(super) fn scatter<R: GpuRuntime>(
    op: &Op,
    combine: ScatterOp,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let ((ids, ids_layout), (src, src_layout)) = (stored(srcs, 1), stored(srcs, 2));
    if src_layout.elem_count() == 0 {
        return Ok(());
    }
    let tuples = ids_layout.dims().len() - 1;
    let indexed = ids_layout.dims()[tuples];
    let flat = flattened(dst_layout.dims(), indexed);
    let Ok(to) = dst_layout.reshape(flat) else {
        let mut copied = copy::contiguous(dst, dst_layout)?;
        let whole = Layout::contiguous(dst_layout.dims());
        scatter(op, combine, srcs, &mut copied, &whole)?;
        return copy::apply_into(&Op::Copy, &[Src::Storage(&copied, &whole)], dst, dst_layout);
    };
    let flag = dst.device().index_faults(op, [ids_layout.dims(), dst_layout.dims()])?;
    let ids = Ids { op, storage: ids, layout: ids_layout, places: places(ids_layout), flag: flag.ptr() };
    let sizes_of = &dst_layout.dims()[..indexed];
    let mut scatter = Scatter {
        combine,
        ids: DType::I64,
        at: [dst.ptr().at(dst.dtype(), to.start_offset()), DevicePtr(0), src.ptr()],
        along: [to.stride()[0], 1, 0, 0],
        n: src_layout.dims()[..tuples].iter().product(),
        size: to.dims()[0],
        from_end: 0,
        whole_words: has_whole_words(dst, dst_layout),
        flag: flag.ptr(),
        dst,
    };
    let slice = |of_src: &[usize]| -> IndexDims<4> {
        let each = to.dims()[1..].iter().zip(&to.stride()[1..]).zip(of_src);
        each.map(|((&size, &stride), &of_src)| Dim { size, stride: [stride, 0, of_src, 0] }).collect()
    };
    if let Some(key) = in_place_nd(combine, dst.dtype(), ids.storage.dtype())
        && !sizes::TUPLES_IDS.is_exceeded(indexed)
        && scatter.is_for_each(slice(&src_layout.stride()[tuples..]))
    {
        // SAFETY: the layouts were validated against their buffers, and the destination has its
        // own.
        return unsafe { ids.in_place(key, sizes_of, (src, src_layout), (&*dst, dst_layout)) };
    }
    let positions = ids.positions(&[], sizes_of)?;
    let flat = flattened(src_layout.dims(), tuples);
    let copied;
    let (src, from) = match src_layout.reshape(flat.clone()) {
        Ok(layout) => (src, layout),
        Err(_) => {
            copied = copy::contiguous(src, src_layout)?;
            (&copied, Layout::contiguous(flat))
        }
    };
    scatter.at[1] = positions.ptr();
    scatter.at[2] = src.ptr().at(src.dtype(), from.start_offset());
    scatter.along[2] = from.stride()[0];
    // SAFETY: the layouts were validated against their buffers, or are those of a copy, the
    // destination has its own buffer, and every position is one of the destination or padding.
    unsafe { scatter.run(slice(&from.stride()[1..])) }
}
