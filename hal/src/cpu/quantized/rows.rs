//! The rows of an operand, in any layout: stretches of the last dimension, read from and written to where they are.

use super::super::walk::{for_runs, gather, scatter};
use crate::Layout;
use std::marker::PhantomData;

/// The offsets of rows, in logical order, and the stride along them.
struct Places {
    /// None where rows are empty: offset and strides may be anything then, their number too, and no element is touched.
    starts: Vec<usize>,
    count: usize,
    len: usize,
    stride: usize,
}

impl Places {
    fn new(layout: &Layout) -> Self {
        let (Some((&len, outer)), Some((&stride, outer_strides))) =
            (layout.dims().split_last(), layout.stride().split_last())
        else {
            unreachable!("validated to have one dimension at least");
        };
        let count = outer.iter().fold(1usize, |count, &d| count.saturating_mul(d));
        if layout.elem_count() == 0 {
            return Self { starts: Vec::new(), count, len, stride };
        }
        let mut starts = Vec::with_capacity(count);
        let step = outer_strides.last().copied().unwrap_or(0);
        for_runs(outer, outer_strides, 0..count, |offset, n| {
            starts.extend((0..n).map(|i| layout.start_offset() + offset + i * step));
        });
        Self { starts, count, len, stride }
    }

    #[track_caller]
    fn at(&self, row: usize, column: usize, len: usize) -> usize {
        assert!(column + len <= self.len, "a stretch of a row stays in it");
        self.starts[row] + column * self.stride
    }
}

/// Rows to read.
pub(super) struct Rows<'a, T> {
    base: *const T,
    places: Places,
    borrow: PhantomData<&'a [T]>,
}

// SAFETY: it stands for a shared borrow of the buffer.
unsafe impl<T: Sync> Sync for Rows<'_, T> {}

impl<'a, T: Copy> Rows<'a, T> {
    /// The rows of a validated operand.
    pub fn new(buffer: &'a [T], layout: &Layout) -> Self {
        assert!(layout.required_len().is_some_and(|n| n <= buffer.len()), "validated to lie in its buffer");
        Self { base: buffer.as_ptr(), places: Places::new(layout), borrow: PhantomData }
    }

    pub fn count(&self) -> usize {
        self.places.count
    }

    pub fn len(&self) -> usize {
        self.places.len
    }

    /// Reads a stretch of a row.
    pub fn read(&self, row: usize, column: usize, out: &mut [T]) {
        let start = self.places.at(row, column, out.len());
        // SAFETY: the elements are some of a layout that was shown to lie in the buffer, which is borrowed.
        unsafe { gather(self.base.wrapping_add(start), &[out.len()], &[self.places.stride], 0..out.len(), out) };
    }
}

/// Rows to write.
pub(super) struct RowsMut<'a, T> {
    base: *mut T,
    places: Places,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for the only borrow of the buffer, and `write` asks of its callers that threads write disjoint elements.
unsafe impl<T: Send> Sync for RowsMut<'_, T> {}

impl<'a, T: Copy> RowsMut<'a, T> {
    /// The rows of a validated destination.
    pub fn new(buffer: &'a mut [T], layout: &Layout) -> Self {
        assert!(layout.required_len().is_some_and(|n| n <= buffer.len()), "validated to lie in its buffer");
        Self { base: buffer.as_mut_ptr(), places: Places::new(layout), borrow: PhantomData }
    }

    pub fn count(&self) -> usize {
        self.places.count
    }

    pub fn len(&self) -> usize {
        self.places.len
    }

    /// Writes a stretch of a row.
    ///
    /// # Safety
    /// No other thread may write elements of the stretch meanwhile.
    pub unsafe fn write(&self, row: usize, column: usize, values: &[T]) {
        let start = self.places.at(row, column, values.len());
        // SAFETY: the elements are some of a layout that was shown to lie in the buffer, which is borrowed alone; no element has two places, and no other
        // thread writes these.
        unsafe {
            scatter(values, self.base.wrapping_add(start), &[values.len()], &[self.places.stride], 0..values.len());
        }
    }
}
