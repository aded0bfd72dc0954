//! Indexing: elements taken from, set at and added to positions that a tensor of ids names.
//!
//! Ids that every slice shares (`index_select`, `index_add`) are ids of the full shape, broadcast.
//! Additions go line by line along the dimension, in ascending order, into sums of the compute
//! type; a line's sums start from the destination and are rounded once, when all is added.

mod lines;
mod take;

use super::CpuStorage;
use super::walk::{dispatch_size, for_runs};
use crate::{DType, Dims, Error, ErrorKind, Layout, Op, Result};
use lines::Lines;
use parking_lot::Mutex;
use std::ops::Range;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// A tensor of ids, read one by one: what is indexed is compiled once for all of their types.
struct Ids {
    base: *const u8,
    dtype: DType,
    /// The mark of an element that is left out.
    padding: Option<i64>,
}

// SAFETY: it points into ids that the operation borrows, and nothing is written through it.
unsafe impl Sync for Ids {}

impl Ids {
    fn new((ids, layout): Input<'_>) -> Self {
        let dtype = ids.dtype();
        let padding = match dtype {
            DType::U8 => None,
            DType::U32 => Some(u32::MAX.into()),
            _ => Some(i64::MAX),
        };
        // A layout without elements may have any offset, and none of its elements is touched.
        let base = ids.as_bytes().as_ptr().wrapping_add(layout.start_offset() * dtype.size_in_bytes());
        Self { base, dtype, padding }
    }

    /// The id at an offset from the first.
    ///
    /// # Safety
    /// It is one of the layout.
    #[inline]
    unsafe fn at(&self, offset: usize) -> i64 {
        // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written;
        // the caller names one of its elements.
        unsafe {
            match self.dtype {
                DType::U8 => (*self.base.wrapping_add(offset)).into(),
                DType::U32 => (*self.base.cast::<u32>().wrapping_add(offset)).into(),
                _ => *self.base.cast::<i64>().wrapping_add(offset),
            }
        }
    }
}

/// The first id out of range, in the order of the ids, whichever thread found it.
#[derive(Default)]
struct Faults(Mutex<Option<(usize, i64)>>);

impl Faults {
    #[cold]
    fn found(&self, at: usize, id: i64) {
        let mut first = self.0.lock();
        if first.is_none_or(|(earlier, _)| at < earlier) {
            *first = Some((at, id));
        }
    }

    /// The position that an id names among `size`; none for padding, and for what is out of range,
    /// which is kept for the report. `at` is the id's place in the order of the ids.
    #[inline]
    fn place(&self, id: i64, padding: Option<i64>, size: usize, at: usize) -> Option<usize> {
        if padding == Some(id) {
            return None;
        }
        let place = usize::try_from(id).ok().filter(|&place| place < size);
        if place.is_none() {
            self.found(at, id);
        }
        place
    }

    fn report(self, op: &Op, dim: usize, size: usize) -> Result<()> {
        let Some((_, id)) = self.0.into_inner() else { return Ok(()) };
        let message = format!(
            "{op}: the id {id} lies outside dimension {dim}, which has size {size}; its element was left out, the others are done. \
             u32::MAX and i64::MAX mark elements that are left out without an error"
        );
        Err(Error::new(ErrorKind::IndexOutOfRange, message).with_op(op))
    }
}

/// Ids of one dimension as ids of a full shape, of which dimension `dim` has as many.
fn spread(ids: &Layout, shape: &[usize], dim: usize) -> Layout {
    let mut stride = Dims::from_elem(0, shape.len());
    stride[dim] = ids.stride()[0];
    Layout::new(Dims::from_slice(shape), stride, ids.start_offset()).expect("one stride a dimension")
}

/// The layout of the elements at position 0 of a dimension, in a given shape: the dimension does
/// not move.
fn at_zero(layout: &Layout, shape: &[usize], dim: usize) -> Layout {
    let mut stride = Dims::from_slice(layout.stride());
    stride[dim] = 0;
    Layout::new(Dims::from_slice(shape), stride, layout.start_offset()).expect("one stride a dimension")
}

/// The first element of a layout. One without elements may have any offset, and none of its
/// elements is touched.
fn start<T: bytemuck::Pod>(storage: &CpuStorage, layout: &Layout) -> *const T {
    storage.as_bytes().as_ptr().cast::<T>().wrapping_add(layout.start_offset())
}

/// A pointer that threads share.
struct Shared<T>(*mut T);

// SAFETY: it points into a destination that the operation borrows alone, and of which threads write
// disjoint elements, as each function says.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn of(dst: &mut CpuStorage, layout: &Layout) -> Self {
        Self(dst.as_bytes_mut().as_mut_ptr().cast::<T>().wrapping_add(layout.start_offset()))
    }

    /// The place of an element; as a method, so that closures capture the whole.
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// Source pointers that threads share to read.
struct Read<T>(*const T);

// SAFETY: it points into a source that the operation borrows, and nothing is written through it.
unsafe impl<T: Sync> Sync for Read<T> {}

impl<T> Read<T> {
    fn at(&self, offset: usize) -> *const T {
        self.0.wrapping_add(offset)
    }
}

/// The offsets of a stretch of a walk's elements.
fn offsets(dims: &[usize], strides: &[usize], range: Range<usize>, out: &mut [usize]) {
    let stride = strides.last().copied().unwrap_or(1);
    let mut done = 0;
    for_runs(dims, strides, range, |offset, n| {
        out[done..done + n].iter_mut().enumerate().for_each(|(i, o)| *o = offset + i * stride);
        done += n;
    });
}

pub(super) fn gather(dim: usize, src: Input<'_>, ids: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    take(&Op::Gather { dim }, dim, src, ids, dst, dl)
}

pub(super) fn index_select(
    dim: usize,
    src: Input<'_>,
    ids: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let spread = spread(ids.1, dl.dims(), dim);
    take(&Op::IndexSelect { dim }, dim, src, (ids.0, &spread), dst, dl)
}

/// Elements of `src` at the places that ids of the result's shape name.
fn take(op: &Op, dim: usize, src: Input<'_>, ids: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let faults = Faults::default();
    dispatch_size!(dst.dtype(), T => take::take::<T>(dim, src, ids, dst, dl, &faults));
    faults.report(op, dim, src.1.dims()[dim])
}

/// `ScatterSet`, `ScatterAdd` and `IndexAdd` into a destination that has the first operand's
/// elements already.
pub(super) fn scatter(op: &Op, ids: Input<'_>, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let faults = Faults::default();
    let spread_ids;
    let (dim, ids) = match *op {
        Op::IndexAdd { dim } => {
            spread_ids = spread(ids.1, src.1.dims(), dim);
            (dim, (ids.0, &spread_ids))
        }
        Op::ScatterSet { dim } | Op::ScatterAdd { dim } => (dim, ids),
        _ => unreachable!("not an operation of the family"),
    };
    match op {
        Op::ScatterSet { .. } => dispatch_size!(dst.dtype(), T => {
            Lines::<T>::new(dim, ids, src, dst, dl, &faults).set();
        }),
        _ => crate::dispatch_dtype!(dst.dtype(), T => {
            Lines::<T>::new(dim, ids, src, dst, dl, &faults).add();
        }),
    }
    faults.report(op, dim, dl.dims()[dim])
}
