//! The rows of an operand, in any layout. Parts of a row (along the last dimension) are read and
//! written in place.

use super::super::walk::{for_runs, gather_bits, scatter_bits};
use crate::{CpuStorage, Layout};
use std::marker::PhantomData;

/// The offsets of the rows, in logical order, and the stride within a row.
struct Places {
    /// Empty if rows are empty: then offset, strides and the number of rows may be anything, and no
    /// element is accessed.
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

/// Rows to read, as bytes.
pub(in crate::cpu) struct Rows<'a> {
    base: *const u8,
    size: usize,
    places: Places,
    borrow: PhantomData<&'a CpuStorage>,
}

// SAFETY: it represents a shared borrow of the buffer.
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    /// Creates the rows of a validated operand.
    pub fn new((storage, layout): (&'a CpuStorage, &Layout)) -> Self {
        let (size, buffer) = (storage.dtype().size_in_bytes(), storage.as_bytes());
        assert!(layout.required_len().is_some_and(|n| n <= buffer.len() / size), "validated to lie in its buffer");
        Self { base: buffer.as_ptr(), size, places: Places::new(layout), borrow: PhantomData }
    }

    pub fn count(&self) -> usize {
        self.places.count
    }

    pub fn len(&self) -> usize {
        self.places.len
    }

    /// Reads part of a row, as many elements as fit `out`.
    pub fn read(&self, row: usize, column: usize, out: &mut [u8]) {
        let n = out.len() / self.size;
        let start = self.places.at(row, column, n);
        let base = self.base.wrapping_add(start * self.size);
        // SAFETY: the elements belong to a layout that was checked to lie in the buffer, which is
        // borrowed; `out` has room for them.
        unsafe { gather_bits(self.size, base, &[n], &[self.places.stride], 0..n, out.as_mut_ptr()) };
    }
}

/// Rows to write, as bytes.
pub(in crate::cpu) struct RowsMut<'a> {
    base: *mut u8,
    size: usize,
    places: Places,
    borrow: PhantomData<&'a mut CpuStorage>,
}

// SAFETY: it represents the only borrow of the buffer, and `write` requires that threads write
// disjoint elements.
unsafe impl Sync for RowsMut<'_> {}

impl<'a> RowsMut<'a> {
    /// Creates the rows of a validated destination.
    pub fn new(storage: &'a mut CpuStorage, layout: &Layout) -> Self {
        let size = storage.dtype().size_in_bytes();
        let buffer = storage.as_bytes_mut();
        assert!(layout.required_len().is_some_and(|n| n <= buffer.len() / size), "validated to lie in its buffer");
        Self { base: buffer.as_mut_ptr(), size, places: Places::new(layout), borrow: PhantomData }
    }

    pub fn count(&self) -> usize {
        self.places.count
    }

    pub fn len(&self) -> usize {
        self.places.len
    }

    /// Writes part of a row; `values` are the bytes of its elements.
    ///
    /// # Safety
    /// No other thread may write these elements at the same time.
    pub unsafe fn write(&self, row: usize, column: usize, values: &[u8]) {
        let n = values.len() / self.size;
        let start = self.places.at(row, column, n);
        let base = self.base.wrapping_add(start * self.size);
        // SAFETY: the elements belong to a layout that was checked to lie in the buffer, which is
        // borrowed exclusively; the layout does not overlap itself, and no other thread writes
        // these elements.
        unsafe { scatter_bits(self.size, values.as_ptr(), base, &[n], &[self.places.stride], 0..n) };
    }
}
