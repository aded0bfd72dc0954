//! Scatter operations: setting and combining elements along lines, in ascending order.

use super::{Faults, Ids, Input, Read, Shared, at_zero, offsets, start};
use crate::cpu::CpuStorage;
use crate::cpu::compute::Compute;
use crate::cpu::element::Element;
use crate::cpu::walk::{dispatch_size, parallel};
use crate::{Dims, Layout, ScatterOp, collapse};

/// Number of neighbouring lines processed together, so that short memory accesses combine into long
/// ones.
const LINES: usize = 16;

/// Scatters along a dimension into a destination that already holds the first operand's elements.
pub(super) fn scatter(
    op: ScatterOp,
    dim: usize,
    ids: &Ids,
    src: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
    faults: &Faults,
) {
    if op == ScatterOp::Set {
        dispatch_size!(dst.dtype(), T => Lines::<T>::new(dim, ids, src, dst, dl, faults).set());
        return;
    }
    crate::dispatch_dtype!(dst.dtype(), T => {
        let lines = Lines::<T>::new(dim, ids, src, dst, dl, faults);
        match op {
            ScatterOp::Add => lines.combine(Compute::add),
            ScatterOp::Prod => lines.combine(Compute::mul),
            ScatterOp::Amin => lines.combine(Compute::minimum),
            ScatterOp::Amax => lines.combine(Compute::maximum),
            ScatterOp::Set => unreachable!("it moves bits"),
        }
    });
}

/// A scatter as a set of lines along its dimension. No two lines share a destination element.
pub(super) struct Lines<'a, T> {
    dst: Shared<T>,
    ids: &'a Ids,
    src: Read<T>,
    /// The other dimensions, and the strides of destination, ids, source and the numbers of the ids
    /// along them.
    dims: Dims,
    strides: [Dims; 4],
    /// The same strides along the dimension.
    step: [usize; 4],
    /// Source elements per line, and destination elements per line.
    n: usize,
    size: usize,
    faults: &'a Faults,
}

impl<'a, T: bytemuck::Pod + Send + Sync> Lines<'a, T> {
    fn new(
        dim: usize,
        ids: &'a Ids,
        (src, src_layout): Input<'_>,
        dst: &mut CpuStorage,
        dl: &Layout,
        faults: &'a Faults,
    ) -> Self {
        let layouts = [dl, &ids.layout, src_layout, &ids.places];
        let mut lines = Dims::from_slice(src_layout.dims());
        lines[dim] = 1;
        let across = layouts.map(|l| at_zero(l, &lines, dim));
        let walk = collapse(&across.each_ref());
        let mut strides = walk.strides.into_iter();
        Self {
            dst: Shared::of(dst, dl),
            ids,
            src: Read(start(src, src_layout)),
            dims: walk.dims,
            strides: std::array::from_fn(|_| strides.next().expect("one set of strides per layout")),
            step: layouts.map(|l| l.stride()[dim]),
            n: src_layout.dims()[dim],
            size: dl.dims()[dim],
            faults,
        }
    }

    /// Calls `body` with groups of neighbouring lines, given as the offsets of each line's first
    /// element in destination, ids and source, and as the number of its first id.
    fn groups(&self, body: &(dyn Fn([&[usize]; 4]) + Sync)) {
        let count: usize = self.dims.iter().product();
        if self.n == 0 {
            return;
        }
        parallel(count.div_ceil(LINES), 1, &|groups| {
            for group in groups {
                let range = group * LINES..count.min((group + 1) * LINES);
                let mut starts = [[0; LINES]; 4];
                for (start, strides) in starts.iter_mut().zip(&self.strides) {
                    offsets(&self.dims, strides, range.clone(), start);
                }
                body(starts.each_ref().map(|start| &start[..range.len()]));
            }
        });
    }

    /// Returns the position that source element `k` of a line goes to, given the offset of the
    /// line's ids and the number of its first id.
    fn place(&self, ids: usize, number: usize, k: usize) -> Option<usize> {
        // SAFETY: the layout was validated to lie in the buffer of ids, which is borrowed and not
        // written.
        let id = unsafe { self.ids.at(ids + k * self.step[1]) };
        self.ids.position(id, self.size, self.faults, || number + k * self.step[3])
    }

    /// Returns source element `k` of a line, given the offset of the line's source.
    fn value(&self, src: usize, k: usize) -> T {
        // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written.
        unsafe { *self.src.at(src + k * self.step[2]) }
    }

    /// Returns a pointer to an element of a line of the destination.
    fn target(&self, dst: usize, place: usize) -> *mut T {
        self.dst.at(dst + place * self.step[0])
    }

    /// Sets the elements. If several sources have one destination, the last one stays, because they
    /// are written in order.
    fn set(&self) {
        self.groups(&|[dst, ids, src, numbers]| {
            for k in 0..self.n {
                for line in 0..dst.len() {
                    if let Some(place) = self.place(ids[line], numbers[line], k) {
                        // SAFETY: the place is inside the dimension, so the element lies in the
                        // validated layout; other threads have other lines, whose elements are
                        // different, because the destination was validated not to overlap itself.
                        unsafe { *self.target(dst[line], place) = self.value(src[line], k) };
                    }
                }
            }
        });
    }
}

impl<T: Element> Lines<'_, T> {
    /// Combines each element with those before it of the same place, in the compute type.
    fn combine(&self, combine: impl Fn(T::Compute, T::Compute) -> T::Compute + Sync) {
        self.groups(&|[dst, ids, src, numbers]| {
            let lines = dst.len();
            let mut sums: Vec<T::Compute> = vec![T::Compute::ZERO; self.size * lines];
            let mut has_sum = vec![false; self.size * lines];
            let mut summed = Vec::new();
            let (mut row, mut widened) = ([T::zeroed(); LINES], [T::Compute::ZERO; LINES]);
            for k in 0..self.n {
                row.iter_mut().zip(src).for_each(|(x, &src)| *x = self.value(src, k));
                let values = T::load(&row[..lines], &mut widened);
                for (line, &value) in values.iter().enumerate() {
                    let Some(place) = self.place(ids[line], numbers[line], k) else { continue };
                    let at = place * lines + line;
                    if !has_sum[at] {
                        has_sum[at] = true;
                        summed.push((place, line));
                        // SAFETY: the place is inside the dimension, so the element lies in the
                        // validated layout; other threads have other lines, whose elements are
                        // different, because the destination was validated not to overlap itself.
                        let before = unsafe { *self.target(dst[line], place) };
                        sums[at] = T::load(&[before], &mut [T::Compute::ZERO])[0];
                    }
                    sums[at] = combine(sums[at], value);
                }
            }
            for (place, line) in summed {
                // SAFETY: as above.
                unsafe { *self.target(dst[line], place) = T::round(sums[place * lines + line]) };
            }
        });
    }
}
