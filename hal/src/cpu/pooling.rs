//! Pooling: the average and the maximum of each window, in the order that `docs/numerics/shape.md`
//! fixes.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::planes::{Planes, Widened};
use super::vector::{Kernel, vectorised};
use super::walk::dispatch_float;
use crate::{Layout, Pool2d};
use std::ops::Range;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Returns the range of elements of a dimension that a window covers.
fn window(index: usize, d: usize, op: &Pool2d, size: usize) -> Range<usize> {
    let start = index * op.stride[d];
    start.saturating_sub(op.padding[d])..(start + op.kernel[d]).saturating_sub(op.padding[d]).min(size)
}

/// Combines one column of every window of a row. The order within each window is kept, because each
/// window has one element in the column.
struct JoinColumn<'a, C, F> {
    results: &'a mut [C],
    values: &'a [C],
    stride: usize,
    join: F,
}

impl<C: Copy, F: Fn(C, C) -> C> Kernel for JoinColumn<'_, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (result, &x) in self.results.iter_mut().zip(self.values.iter().step_by(self.stride)) {
            *result = (self.join)(*result, x);
        }
    }
}

/// Combines the elements of every window in row-major order, starting from `start`; `finish`
/// receives the results of a row and its index.
fn pool<T: Element>(
    op: &Pool2d,
    src: Input<'_>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
    start: T::Compute,
    join: impl Fn(T::Compute, T::Compute) -> T::Compute + Copy + Sync,
    finish: impl Fn(&mut [T::Compute], usize) + Sync,
) {
    let planes = Planes::<T>::new(src, dst, dst_layout, 2);
    let (from, to) = (planes.source(), planes.target());
    let ([_, stride], [_, padding]) = (op.stride, op.padding);
    // The columns of windows that lie in the input for at least one window: a window may be much
    // wider than the input.
    let first_column = padding.saturating_sub(to.columns.saturating_sub(1) * stride);
    let in_window = first_column..op.kernel[1].min(from.columns + padding);
    planes.run(&|rows| {
        let (mut widened, mut results) = (Widened::<T>::new(from.columns), vec![start; to.columns]);
        let (mut rounded, mut scratch) = (vec![T::zeroed(); to.columns], vec![start; to.columns]);
        for row in rows {
            results.fill(start);
            for y in window(row.y, 0, op, from.rows) {
                let values = widened.load(&row, y);
                for j in in_window.clone() {
                    // The windows whose column `j` lies in the input start with the first one
                    // beyond the padding.
                    let first = padding.saturating_sub(j).div_ceil(stride);
                    let column = first * stride + j;
                    if first < to.columns && column < from.columns + padding {
                        let values = &values[column - padding..];
                        vectorised(JoinColumn { results: &mut results[first..], values, stride, join });
                    }
                }
            }
            finish(&mut results, row.y);
            T::store(&mut rounded, &mut scratch, |out| out.copy_from_slice(&results));
            row.write(&rounded);
        }
    });
}

pub(super) fn avg_pool2d(op: &Pool2d, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let (rows, columns) = (src.1.dims()[2], src.1.dims()[3]);
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let divide = |sums: &mut [C], y: usize| {
            let height = window(y, 0, op, rows).len();
            for (x, sum) in sums.iter_mut().enumerate() {
                let count = match op.count_include_pad {
                    true => op.kernel[0].saturating_mul(op.kernel[1]),
                    false => height * window(x, 1, op, columns).len(),
                };
                *sum = sum.div(C::from_count(count));
            }
        };
        pool::<T>(op, src, dst, dst_layout, C::ZERO, <C as Compute>::add, divide);
    });
}

pub(super) fn max_pool2d(op: &Pool2d, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_dtype!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        pool::<T>(op, src, dst, dst_layout, C::BOTTOM, <C as Compute>::maximum, |_, _| ());
    });
}
