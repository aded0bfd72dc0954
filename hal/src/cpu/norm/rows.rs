//! Rows along the last dimension of any layout: each row is widened into a buffer, and rounded when
//! it is written.

use super::super::element::Element;
use super::super::reduce::SEGMENT;
use super::super::walk::{BLOCK, for_runs, gather, parallel, scatter, zeroed};
use super::{CpuStorage, Input};
use crate::{Collapsed, Layout, collapse};
use rayon::prelude::*;

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 16_384;

/// A source and a destination; each row of the source becomes the same row of the destination.
pub(super) struct Rows<'a, T> {
    src: *const T,
    dst: *mut T,
    /// Elements per row, and their strides in source and destination.
    n: usize,
    strides: [usize; 2],
    /// The other dimensions.
    outer: Collapsed,
    count: usize,
    borrows: std::marker::PhantomData<(&'a T, &'a mut T)>,
}

// SAFETY: the pointers point into a source that is borrowed and only read, and a destination that
// is borrowed exclusively and of which threads write disjoint elements.
unsafe impl<T: Sync + Send> Sync for Rows<'_, T> {}

impl<'a, T: Element> Rows<'a, T> {
    /// Creates the rows of operands that [`crate::validate`] has accepted.
    pub fn new((src, sl): Input<'a>, dst: &'a mut CpuStorage, dl: &Layout) -> Self {
        let outer = |layout: &Layout| {
            let rank = layout.dims().len() - 1;
            Layout::new(&layout.dims()[..rank], &layout.stride()[..rank], 0).expect("one stride per dimension")
        };
        let last = |layout: &Layout| *layout.stride().last().expect("validated to have a last dimension");
        let (from, to) = (outer(sl), outer(dl));
        let src = src.as_slice::<T>().expect("the dtype was dispatched on").as_ptr();
        let dst = dst.as_mut_slice::<T>().expect("the dtype was dispatched on").as_mut_ptr();
        Self {
            // An empty layout may have any offset; none of its elements is accessed.
            src: src.wrapping_add(sl.start_offset()),
            dst: dst.wrapping_add(dl.start_offset()),
            n: *sl.dims().last().expect("as above"),
            strides: [last(sl), last(dl)],
            count: from.elem_count(),
            outer: collapse(&[&from, &to]),
            borrows: std::marker::PhantomData,
        }
    }

    /// Calls `row` with the number of every row and its elements in the compute type; `row`
    /// replaces them with the result.
    pub fn run(&self, row: &(dyn Fn(usize, &mut [T::Compute]) + Sync)) {
        if self.n == 0 {
            return;
        }
        parallel(self.count, (SERIAL / self.n).max(1), &|rows| {
            let mut x = vec![<T::Compute as bytemuck::Zeroable>::zeroed(); self.n];
            for r in rows {
                let [src, dst] = self.offsets(r);
                if self.n <= SEGMENT {
                    self.load(src, 0, &mut x);
                    row(r, &mut x);
                    self.store(dst, 0, &x);
                } else {
                    x.par_chunks_mut(SEGMENT).enumerate().for_each(|(i, x)| self.load(src, i * SEGMENT, x));
                    row(r, &mut x);
                    x.par_chunks(SEGMENT).enumerate().for_each(|(i, x)| self.store(dst, i * SEGMENT, x));
                }
            }
        });
    }

    /// Returns the offsets at which a row starts in source and destination.
    fn offsets(&self, row: usize) -> [usize; 2] {
        [0, 1].map(|operand| {
            let mut offset = 0;
            for_runs(&self.outer.dims, &self.outer.strides[operand], row..row + 1, |o, _| offset = o);
            offset
        })
    }

    fn load(&self, row: usize, start: usize, x: &mut [T::Compute]) {
        let (mut elements, mut wide) = (zeroed::<T>(), zeroed::<T::Compute>());
        for (i, x) in x.chunks_mut(BLOCK).enumerate() {
            let range = start + i * BLOCK..start + i * BLOCK + x.len();
            let base = self.src.wrapping_add(row);
            let elements = if self.strides[0] == 1 {
                // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
                // written.
                unsafe { std::slice::from_raw_parts(base.add(range.start), range.len()) }
            } else {
                let elements = &mut elements[..range.len()];
                // SAFETY: as above.
                unsafe { gather(base, &[self.n], &self.strides[..1], range, elements) };
                elements
            };
            x.copy_from_slice(T::load(elements, &mut wide));
        }
    }

    fn store(&self, row: usize, start: usize, x: &[T::Compute]) {
        let (mut elements, mut wide) = (zeroed::<T>(), zeroed::<T::Compute>());
        for (i, x) in x.chunks(BLOCK).enumerate() {
            let range = start + i * BLOCK..start + i * BLOCK + x.len();
            let base = self.dst.wrapping_add(row);
            if self.strides[1] == 1 {
                // SAFETY: the layout was validated to lie in the buffer, which is borrowed
                // exclusively, and not to overlap itself; no other row or part has these elements.
                let elements = unsafe { std::slice::from_raw_parts_mut(base.add(range.start), range.len()) };
                T::store(elements, &mut wide, |y| y.copy_from_slice(x));
            } else {
                let elements = &mut elements[..range.len()];
                T::store(elements, &mut wide, |y| y.copy_from_slice(x));
                // SAFETY: as above, element by element.
                unsafe { scatter(elements, base, &[self.n], &self.strides[1..], range) };
            }
        }
    }
}

/// Returns a parameter's elements in the compute type.
pub(super) fn widened<T: Element>((storage, layout): Input<'_>) -> Vec<T::Compute> {
    let n = layout.elem_count();
    let from = storage.as_slice::<T>().expect("the dtype was validated").as_ptr().wrapping_add(layout.start_offset());
    let mut elements = vec![T::zeroed(); n];
    // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written.
    unsafe { gather(from, layout.dims(), layout.stride(), 0..n, &mut elements) };
    let mut wide = vec![bytemuck::Zeroable::zeroed(); n];
    T::load(&elements, &mut wide).to_vec()
}
