//! The way back through pools: each element of the input gathers the gradients of the windows that
//! have it, in the order that `docs/numerics/shape.md` fixes.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::planes::{Planes, Widened};
use super::pooling::{Input, Windows};
use super::walk::dispatch_float;
use crate::{Layout, Op};
use std::ops::Range;

/// Along each dimension and for each position in it, a range of windows that begins and ends with
/// one that has its element.
fn ranges(windows: &Windows, d: usize, size: usize, count: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = vec![0..0; size];
    for window in 0..count {
        for position in windows.positions(d, window) {
            let range = &mut ranges[position];
            let first = if range.end == 0 { window } else { range.start };
            *range = first..window + 1;
        }
    }
    ranges
}

/// A window: its plane, and its place in it along three dimensions.
#[derive(Clone, Copy)]
struct Window {
    plane: usize,
    at: [usize; 3],
}

/// Sums what `part` gives for each element, from the element's position in its plane and each
/// window that has it, with the window's gradient.
fn gather<T: Element<Compute: FloatCompute>>(
    windows: Windows,
    gradient: Input<'_>,
    (dst, dst_layout): (&mut CpuStorage, &Layout),
    part: impl Fn(T::Compute, Window, usize) -> T::Compute + Sync,
) {
    let planes = Planes::<T>::new(gradient, dst, dst_layout, dst_layout.dims().len() - 2);
    let (from, to) = (planes.source(), planes.target());
    let size = [to.slices, to.rows / to.slices, to.columns];
    let counts = [from.slices, from.rows / from.slices, from.columns];
    let over: [_; 3] = std::array::from_fn(|d| ranges(&windows, d, size[d], counts[d]));
    let having =
        |d: usize, position: usize| over[d][position].clone().filter(move |&window| windows.has(d, window, position));
    planes.run(&|rows| {
        let (mut widened, mut sums) = (Widened::<T>::new(from.columns), vec![T::Compute::ZERO; to.columns]);
        let mut results = vec![T::zeroed(); to.columns];
        for row in rows {
            sums.fill(T::Compute::ZERO);
            for z in having(0, row.y / size[1]) {
                for y in having(1, row.y % size[1]) {
                    let gradients = widened.load(&row, z * counts[1] + y);
                    for (column, sum) in sums.iter_mut().enumerate() {
                        for x in having(2, column) {
                            let window = Window { plane: row.plane, at: [z, y, x] };
                            *sum = sum.add(part(gradients[x], window, row.y * to.columns + column));
                        }
                    }
                }
            }
            T::round_all(&sums, &mut results);
            row.write(&results);
        }
    });
}

pub(super) fn averages(op: &Op, gradient: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, dst_layout.dims(), gradient.1.dims());
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let share = |gradient: C, window: Window, _| {
            let counted: usize = (0..3).map(|d| windows.counted(d, window.at[d])).product();
            Compute::div(gradient, C::from_count(counted))
        };
        gather::<T>(windows, gradient, (dst, dst_layout), share);
    });
}

pub(super) fn maxima(op: &Op, gradient: Input<'_>, places: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, dst_layout.dims(), gradient.1.dims());
    let counts = gradient.1.dims();
    let indices = places.1.strided_index();
    // A position that no u32 holds is no element's.
    let places: Vec<Option<u32>> = match places.0.as_slice::<i64>() {
        Some(wide) => indices.map(|at| u32::try_from(wide[at]).ok()).collect(),
        None => {
            let narrow = places.0.as_slice::<u32>().expect("positions are i64 or u32");
            indices.map(|at| Some(narrow[at])).collect()
        }
    };
    let flat = |window: Window| {
        let spatial = &counts[2..];
        spatial.iter().zip(&window.at[3 - spatial.len()..]).fold(window.plane, |flat, (&count, &at)| flat * count + at)
    };
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let chosen = |gradient: C, window: Window, position: usize| {
            if places[flat(window)] == u32::try_from(position).ok() { gradient } else { C::ZERO }
        };
        gather::<T>(windows, gradient, (dst, dst_layout), chosen);
    });
}
