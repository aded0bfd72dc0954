//! Indexing: taking elements from, setting them at, and adding to the positions given by a tensor
//! of ids.
//!
//! One-dimensional ids (`index_select`, `index_add`) are broadcast to the full shape. Additions go
//! line by line along the dimension, in ascending order, into sums of the compute type. A line's
//! sums start from the destination's elements and are rounded once, at the end.

mod lines;
mod take;

use super::CpuStorage;
use super::walk::{dispatch_size, for_runs};
use crate::{DType, Dims, Error, ErrorKind, Layout, Op, Result};
use lines::Lines;
use parking_lot::Mutex;
use std::ops::Range;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// A tensor of ids, read one at a time, so that the indexing code is compiled once for all id
/// dtypes.
struct Ids {
    base: *const u8,
    dtype: DType,
    /// The id that marks padding, for which the element is skipped.
    padding: Option<i64>,
}

// SAFETY: it points into ids that the operation borrows, and nothing is written through the
// pointer.
unsafe impl Sync for Ids {}

impl Ids {
    fn new((ids, layout): Input<'_>) -> Self {
        let dtype = ids.dtype();
        let padding = match dtype {
            DType::U8 => None,
            DType::U32 => Some(u32::MAX.into()),
            DType::I32 => Some(i32::MAX.into()),
            _ => Some(i64::MAX),
        };
        // An empty layout may have any offset; none of its elements is accessed.
        let base = ids.as_bytes().as_ptr().wrapping_add(layout.start_offset() * dtype.size_in_bytes());
        Self { base, dtype, padding }
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
}

/// The first id out of range in the order of the ids, whichever thread found it.
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

    /// Returns the position of an id in a dimension of `size`; `None` for padding and for an id out
    /// of range, which is recorded for the error. `at` is the id's place in the order of the ids.
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
            "{op}: the id {id} lies outside dimension {dim}, which has size {size}; its element was skipped, the others were processed. \
             u32::MAX, i32::MAX and i64::MAX mark elements that are skipped without an error"
        );
        Err(Error::new(ErrorKind::IndexOutOfRange, message).with_op(op))
    }
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

/// Takes the elements of `src` at the positions given by ids of the result's shape.
fn take(op: &Op, dim: usize, src: Input<'_>, ids: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let faults = Faults::default();
    dispatch_size!(dst.dtype(), T => take::take::<T>(dim, src, ids, dst, dl, &faults));
    faults.report(op, dim, src.1.dims()[dim])
}

/// Runs `ScatterSet`, `ScatterAdd` and `IndexAdd` into a destination that already holds the first
/// operand's elements.
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
