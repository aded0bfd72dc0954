//! Indexing: taking elements from, setting them at, and combining them with the positions given by
//! a tensor of ids.
//!
//! One-dimensional ids (`index_select`, `index_add`) are broadcast to the full shape, and tuples of
//! ids become positions in the flattened dimensions first. Elements are combined line by line along
//! the dimension, in ascending order, in the compute type. A line's values start from the
//! destination's elements and are rounded once, at the end.

mod lines;
mod take;
mod tuples;

use super::CpuStorage;
use super::walk::{dispatch_size, for_runs};
use crate::{DType, Dims, Indexing, Layout, Op, Result};
use parking_lot::Mutex;
use std::ops::Range;
use take::Taken;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// A tensor of ids, read one at a time, so that the indexing code is compiled once for all id
/// dtypes.
struct Ids {
    base: *const u8,
    dtype: DType,
    /// The id that marks padding, for which the element is skipped.
    padding: Option<i64>,
    /// Whether negative ids count from the end.
    negative: bool,
    layout: Layout,
    /// The place of each id in row-major order of the ids, the first one of those that are the same
    /// element.
    places: Layout,
}

// SAFETY: it points into ids that the operation borrows, and nothing is written through the
// pointer.
unsafe impl Sync for Ids {}

impl Ids {
    fn new(ids: &CpuStorage, layout: Layout, places: Layout, negative: bool) -> Self {
        let dtype = ids.dtype();
        let padding = match dtype {
            DType::U8 => None,
            DType::U32 => Some(u32::MAX.into()),
            DType::I32 => Some(i32::MAX.into()),
            _ => Some(i64::MAX),
        };
        // An empty layout may have any offset; none of its elements is accessed.
        let base = ids.as_bytes().as_ptr().wrapping_add(layout.start_offset() * dtype.size_in_bytes());
        Self { base, dtype, padding, negative, layout, places }
    }

    /// Returns the ids of an operation in the shape in which it works. One-dimensional ids are
    /// spread along all dimensions but their own.
    fn of(op: &Op, (ids, layout): Input<'_>, shape: &[usize], dim: usize) -> Self {
        let places = places(layout);
        let (layout, places) = match op {
            Op::IndexSelect(_) | Op::IndexAdd(_) => (spread(layout, shape, dim), spread(&places, shape, dim)),
            _ => (layout.clone(), places),
        };
        Self::new(ids, layout, places, op.has_negative_ids())
    }

    /// Returns the id at an offset from the first one.
    ///
    /// # Safety
    /// The offset must be that of an element of the layout.
    #[inline]
    unsafe fn at(&self, offset: usize) -> i64 {
        // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written;
        // the caller passes the offset of one of its elements.
        unsafe {
            match self.dtype {
                DType::U8 => (*self.base.wrapping_add(offset)).into(),
                DType::U32 => (*self.base.cast::<u32>().wrapping_add(offset)).into(),
                DType::I32 => (*self.base.cast::<i32>().wrapping_add(offset)).into(),
                _ => *self.base.cast::<i64>().wrapping_add(offset),
            }
        }
    }

    /// Returns the position of an id in a dimension of `size`; `None` for padding and for an id out
    /// of range, which is recorded for the error. `place` returns the id's place in the order of
    /// the ids.
    #[inline]
    fn position(&self, id: i64, size: usize, faults: &Faults, place: impl FnOnce() -> usize) -> Option<usize> {
        if self.padding == Some(id) {
            return None;
        }
        let from_start = if self.negative && id < 0 { id.checked_add_unsigned(size as u64) } else { Some(id) };
        let position = from_start.and_then(|id| usize::try_from(id).ok()).filter(|&position| position < size);
        if position.is_none() {
            faults.found(place(), id);
        }
        position
    }
}

/// The first id out of range in the order of the ids, whichever thread found it.
#[derive(Default)]
struct Faults(Mutex<Option<(usize, i64)>>);

impl Faults {
    #[cold]
    fn found(&self, place: usize, id: i64) {
        let mut first = self.0.lock();
        if first.is_none_or(|(earlier, _)| place < earlier) {
            *first = Some((place, id));
        }
    }

    fn report(self, op: &Op, ids: &Layout, tensor: &Layout) -> Result<()> {
        match self.0.into_inner() {
            None => Ok(()),
            Some((place, id)) => Err(op.id_out_of_range(id, place, ids.dims(), tensor.dims())),
        }
    }
}

/// Returns the layout of the numbers of elements in row-major order. A dimension of which all
/// elements are the same has those of its first one.
fn places(layout: &Layout) -> Layout {
    let mut stride = layout.shape().stride_contiguous();
    stride.iter_mut().zip(layout.stride()).filter(|(_, s)| **s == 0).for_each(|(place, _)| *place = 0);
    Layout::new(Dims::from_slice(layout.dims()), stride, 0).expect("one stride per dimension")
}

/// Broadcasts one-dimensional ids to a shape whose dimension `dim` has their length.
fn spread(ids: &Layout, shape: &[usize], dim: usize) -> Layout {
    let mut stride = Dims::from_elem(0, shape.len());
    stride[dim] = ids.stride()[0];
    Layout::new(Dims::from_slice(shape), stride, ids.start_offset()).expect("one stride per dimension")
}

/// Returns the layout of the elements at position 0 of dimension `dim`, broadcast to a shape: the
/// dimension gets stride 0.
fn at_zero(layout: &Layout, shape: &[usize], dim: usize) -> Layout {
    let mut stride = Dims::from_slice(layout.stride());
    stride[dim] = 0;
    Layout::new(Dims::from_slice(shape), stride, layout.start_offset()).expect("one stride per dimension")
}

/// Returns a pointer to the first element of a layout. An empty layout may have any offset; none of
/// its elements is accessed.
fn start<T: bytemuck::Pod>(storage: &CpuStorage, layout: &Layout) -> *const T {
    storage.as_bytes().as_ptr().cast::<T>().wrapping_add(layout.start_offset())
}

/// A destination pointer that threads share.
struct Shared<T>(*mut T);

// SAFETY: it points into a destination that the operation borrows exclusively, and threads write
// disjoint elements of it, as each function argues.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn of(dst: &mut CpuStorage, layout: &Layout) -> Self {
        Self(dst.as_bytes_mut().as_mut_ptr().cast::<T>().wrapping_add(layout.start_offset()))
    }

    /// Returns a pointer to an element. It is a method so that closures capture the whole struct.
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// A source pointer that threads share for reading.
struct Read<T>(*const T);

// SAFETY: it points into a source that the operation borrows, and nothing is written through the
// pointer.
unsafe impl<T: Sync> Sync for Read<T> {}

impl<T> Read<T> {
    fn at(&self, offset: usize) -> *const T {
        self.0.wrapping_add(offset)
    }
}

/// Writes the offsets of a range of a walk's elements to `out`.
fn offsets(dims: &[usize], strides: &[usize], range: Range<usize>, out: &mut [usize]) {
    let stride = strides.last().copied().unwrap_or(1);
    let mut done = 0;
    for_runs(dims, strides, range, |offset, n| {
        out[done..done + n].iter_mut().enumerate().for_each(|(i, o)| *o = offset + i * stride);
        done += n;
    });
}

/// Runs `Gather`, `IndexSelect` and `GatherNd`.
pub(super) fn take(op: &Op, src: Input<'_>, ids: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let faults = Faults::default();
    if let Op::GatherNd(p) = op {
        tuples::gather(op, p.batch_dims, src, ids, dst, dl, &faults)?;
    } else {
        let Indexing { dim, .. } = op.indexing().expect("an operation with single ids");
        let taken = Taken { base: at_zero(src.1, dl.dims(), dim), size: src.1.dims()[dim], step: src.1.stride()[dim] };
        let ids = Ids::of(op, ids, dl.dims(), dim);
        dispatch_size!(dst.dtype(), T => take::take::<T>(src.0, &taken, &ids, dst, dl, &faults));
    }
    faults.report(op, ids.1, src.1)
}

/// Runs the scatter operations into a destination that already holds the first operand's elements.
pub(super) fn scatter(op: &Op, ids: Input<'_>, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let faults = Faults::default();
    let combine = op.scatter_op().expect("a scatter");
    if let Op::ScatterNd(_) = op {
        tuples::scatter(op, combine, ids, src, dst, dl, &faults)?;
    } else {
        let Indexing { dim, .. } = op.indexing().expect("an operation with single ids");
        lines::scatter(combine, dim, &Ids::of(op, ids, src.1.dims(), dim), src, dst, dl, &faults);
    }
    faults.report(op, ids.1, dl)
}
