//! Operations on the last dimensions of a tensor, up to three, in any layout: each row of the
//! destination is computed from rows of the source.

use super::walk::{gather, parallel, scatter};
use super::{CpuStorage, element::Element};
use crate::{Dims, Layout};
use std::marker::PhantomData;
use std::ops::Range;

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 16_384;

/// Source and destination, which have the same dimensions before the spatial ones. A tensor with
/// one spatial dimension has one row per plane; one with three has the rows of all its slices, one
/// slice after the other.
pub(super) struct Planes<'a, T, D = T> {
    src: *const T,
    dst: *mut D,
    outer: Dims,
    outer_strides: [Dims; 2],
    src_plane: Plane,
    dst_plane: Plane,
    borrows: PhantomData<(&'a CpuStorage, &'a mut CpuStorage)>,
}

/// Sizes and strides of the spatial dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    /// Rows of all slices.
    pub rows: usize,
    pub columns: usize,
    pub slices: usize,
    slice_stride: usize,
    row_stride: usize,
    column_stride: usize,
}

// SAFETY: source and destination point into buffers that are borrowed for longer than this value
// lives; the source is not written, and each row of the destination is written by one thread.
unsafe impl<T: Sync, D: Sync> Sync for Planes<'_, T, D> {}

impl Plane {
    /// Creates the plane of a layout whose last `spatial` dimensions are spatial.
    fn new(layout: &Layout, spatial: usize) -> Self {
        let (dims, stride) = (layout.dims(), layout.stride());
        let last = dims.len() - 1;
        let outer = |d: usize| if d < spatial { (dims[last - d], stride[last - d]) } else { (1, 0) };
        let ((rows, row_stride), (slices, slice_stride)) = (outer(1), outer(2));
        let (columns, column_stride) = (dims[last], stride[last]);
        Self { rows: slices * rows, columns, slices, slice_stride, row_stride, column_stride }
    }

    /// Returns the offset of a row.
    fn row_offset(&self, y: usize) -> usize {
        if self.slices == 1 {
            return y * self.row_stride;
        }
        let rows = self.rows / self.slices;
        y / rows * self.slice_stride + y % rows * self.row_stride
    }
}

impl<'a, T: bytemuck::Pod + Send + Sync, D: bytemuck::Pod + Send + Sync> Planes<'a, T, D> {
    /// Creates the planes of validated operands. They have at least rank 2, or rank 1 with one
    /// spatial dimension; `T` and `D` have the size of their elements.
    pub fn new(
        (src, src_layout): (&'a CpuStorage, &Layout),
        dst: &'a mut CpuStorage,
        dst_layout: &Layout,
        spatial: usize,
    ) -> Self {
        let split = dst_layout.dims().len() - spatial;
        assert_eq!([size_of::<T>(), size_of::<D>()], [src.dtype(), dst.dtype()].map(|dtype| dtype.size_in_bytes()));
        Self {
            // An empty layout may have any offset; none of its elements is accessed.
            src: src.as_bytes().as_ptr().cast::<T>().wrapping_add(src_layout.start_offset()),
            dst: dst.as_bytes_mut().as_mut_ptr().cast::<D>().wrapping_add(dst_layout.start_offset()),
            outer: dst_layout.dims()[..split].into(),
            outer_strides: [src_layout.stride()[..split].into(), dst_layout.stride()[..split].into()],
            src_plane: Plane::new(src_layout, spatial),
            dst_plane: Plane::new(dst_layout, spatial),
            borrows: PhantomData,
        }
    }

    /// Returns the plane of the source.
    pub fn source(&self) -> Plane {
        self.src_plane
    }

    /// Returns the plane of the destination.
    pub fn target(&self) -> Plane {
        self.dst_plane
    }

    /// Calls `body` with the rows of the destination, in groups, on several threads if there are
    /// many.
    pub fn run(&self, body: &(dyn Fn(&mut Group<'_, '_, T, D>) + Sync)) {
        let rows = self.outer.iter().product::<usize>() * self.dst_plane.rows;
        if self.dst_plane.columns == 0 {
            return;
        }
        let group = SERIAL.div_ceil(self.dst_plane.columns);
        parallel(rows, group, &|range: Range<usize>| body(&mut range.map(|r| self.row(r))));
    }

    fn row(&self, number: usize) -> Row<'_, T, D> {
        let (number, y) = (number / self.dst_plane.rows, number % self.dst_plane.rows);
        let (mut plane, mut offsets) = (number, [0; 2]);
        for (d, &size) in self.outer.iter().enumerate().rev() {
            let i = plane % size;
            plane /= size;
            for (offset, strides) in offsets.iter_mut().zip(&self.outer_strides) {
                *offset += i * strides[d];
            }
        }
        Row { planes: self, plane: number, y, src: offsets[0], dst: offsets[1] + self.dst_plane.row_offset(y) }
    }
}

/// Rows that one thread computes.
type Group<'g, 'p, T, D> = dyn Iterator<Item = Row<'p, T, D>> + 'g;

/// A row of the destination. No other row shares its elements.
pub(super) struct Row<'p, T, D = T> {
    planes: &'p Planes<'p, T, D>,
    /// Number of the plane.
    pub plane: usize,
    /// Index of the row in the plane.
    pub y: usize,
    src: usize,
    dst: usize,
}

impl<T: bytemuck::Pod, D: bytemuck::Pod> Row<'_, T, D> {
    /// Returns a row of the source's plane; `buf` has room for it.
    pub fn source<'s>(&'s self, y: usize, buf: &'s mut [T]) -> &'s [T] {
        let plane = self.planes.src_plane;
        assert!(y < plane.rows);
        let base = self.planes.src.wrapping_add(self.src + plane.row_offset(y));
        if plane.column_stride == 1 {
            // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
            // written.
            return unsafe { std::slice::from_raw_parts(base, plane.columns) };
        }
        let buf = &mut buf[..plane.columns];
        // SAFETY: as above.
        unsafe { gather(base, &[plane.columns], &[plane.column_stride], 0..plane.columns, buf) };
        buf
    }

    /// Writes the row; `elements` has one element per column of the destination.
    pub fn write(&self, elements: &[D]) {
        let plane = self.planes.dst_plane;
        assert_eq!(elements.len(), plane.columns);
        let base = self.planes.dst.wrapping_add(self.dst);
        // SAFETY: the layout was validated to lie in the buffer, which is borrowed exclusively, and
        // not to overlap itself; one thread has this row.
        unsafe { scatter(elements, base, &[plane.columns], &[plane.column_stride], 0..plane.columns) };
    }
}

/// Buffers for a row of the source and for its values in the compute type.
pub(super) struct Widened<T: Element> {
    elements: Vec<T>,
    values: Vec<T::Compute>,
}

impl<T: Element> Widened<T> {
    /// Allocates buffers for rows of `columns` elements.
    pub fn new(columns: usize) -> Self {
        Self { elements: vec![T::zeroed(); columns], values: vec![bytemuck::Zeroable::zeroed(); columns] }
    }

    /// Returns a row of the source's plane, widened.
    pub fn load<'s, D: bytemuck::Pod>(&'s mut self, row: &'s Row<'_, T, D>, y: usize) -> &'s [T::Compute] {
        T::load(row.source(y, &mut self.elements), &mut self.values)
    }
}
