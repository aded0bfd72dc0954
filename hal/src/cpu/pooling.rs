//! Pooling: the average, the maximum and its position of each window, in the order that
//! `docs/numerics/shape.md` fixes.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::math_dispatch::Recipes;
use super::planes::{Planes, Widened};
use super::vector::{Kernel, vectorised};
use super::walk::dispatch_float;
use crate::{DType, Layout, Op, Pool3d};

pub(super) type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Windows over three dimensions of an input. Dimensions that an operation lacks have size 1.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    form: Form,
    size: [usize; 3],
}

#[derive(Clone, Copy)]
enum Form {
    Equal(Pool3d),
    /// So many windows share each dimension.
    Adaptive([usize; 3]),
}

/// The elements of a window that lie in the input, along one dimension.
#[derive(Clone, Copy)]
struct Covered {
    /// Position of the first.
    at: usize,
    /// Positions from one to the next.
    step: usize,
    count: usize,
}

impl Windows {
    /// Returns the windows of a pool from a tensor of dimensions `from` to one of dimensions `to`.
    pub fn new(op: &Op, from: &[usize], to: &[usize]) -> Self {
        let over_three = |dims: &[usize]| {
            let mut all = [1; 3];
            all[5 - dims.len()..].copy_from_slice(&dims[2..]);
            all
        };
        let form = op.pool_windows().map_or(Form::Adaptive(over_three(to)), |(pool, _)| Form::Equal(pool));
        Self { form, size: over_three(from) }
    }

    fn covered(&self, d: usize, index: usize) -> Covered {
        let size = self.size[d];
        match self.form {
            Form::Equal(pool) => {
                let (padding, dilation) = (pool.padding_before[d], pool.dilation[d]);
                let start = index * pool.stride[d];
                let first = padding.saturating_sub(start).div_ceil(dilation);
                let count = taps_before(&pool, d, index, size + padding) - first;
                Covered { at: start + first * dilation - padding, step: dilation, count }
            }
            Form::Adaptive(windows) => {
                let at = index * size / windows[d];
                Covered { at, step: 1, count: ((index + 1) * size).div_ceil(windows[d]) - at }
            }
        }
    }

    /// Returns the positions of a window in the input along one dimension.
    pub fn positions(&self, d: usize, index: usize) -> impl Iterator<Item = usize> + use<> {
        let covered = self.covered(d, index);
        (0..covered.count).map(move |i| covered.at + i * covered.step)
    }

    /// Whether a window has the element at a position along one dimension.
    pub fn has(&self, d: usize, index: usize, position: usize) -> bool {
        let covered = self.covered(d, index);
        let from_first = position.checked_sub(covered.at);
        from_first.is_some_and(|away| away.is_multiple_of(covered.step) && away / covered.step < covered.count)
    }

    /// Returns the number of elements along one dimension by which an average divides.
    pub fn counted(&self, d: usize, index: usize) -> usize {
        match self.form {
            Form::Equal(pool) if pool.count_include_pad => {
                taps_before(&pool, d, index, pool.padding_before[d] + self.size[d] + pool.padding_after[d])
            }
            _ => self.covered(d, index).count,
        }
    }
}

/// Returns how many elements of a window, counted from its first, lie before a position that is
/// counted from the padding.
fn taps_before(pool: &Pool3d, d: usize, index: usize, end: usize) -> usize {
    (end - index * pool.stride[d]).div_ceil(pool.dilation[d]).min(pool.kernel[d])
}

/// Joins the values of a row of the input to the row of windows above it: those of each window in
/// ascending order. `at` is the position of the first value.
fn join_row<A: Copy, C: Copy>(
    windows: &Windows,
    results: &mut [A],
    values: &[C],
    at: usize,
    join: impl Fn(A, C, usize) -> A + Copy,
) {
    let Form::Equal(pool) = windows.form else {
        for (window, result) in results.iter_mut().enumerate() {
            for column in windows.positions(2, window) {
                *result = join(*result, values[column], at + column);
            }
        }
        return;
    };
    let (stride, dilation, padding) = (pool.stride[2], pool.dilation[2], pool.padding_before[2]);
    // The columns of windows that lie in the input for at least one window: a window may be much
    // wider than the input.
    let first_column = padding.saturating_sub(results.len().saturating_sub(1) * stride).div_ceil(dilation);
    let in_window = first_column..(values.len() + padding).div_ceil(dilation).min(pool.kernel[2]);
    for offset in in_window.map(|j| j * dilation) {
        // The windows that have this column in the input start with the first one beyond the
        // padding.
        let first = padding.saturating_sub(offset).div_ceil(stride);
        let column = first * stride + offset;
        if first < results.len() && column < values.len() + padding {
            let column = column - padding;
            let (results, values) = (&mut results[first..], &values[column..]);
            vectorised(JoinColumn { results, values, at: at + column, stride, join });
        }
    }
}

/// Combines one column of every window of a row. The order within each window is kept, because each
/// window has one element in the column.
struct JoinColumn<'a, A, C, F> {
    results: &'a mut [A],
    values: &'a [C],
    /// Position of the first value in the input.
    at: usize,
    stride: usize,
    join: F,
}

impl<A: Copy, C: Copy, F: Fn(A, C, usize) -> A> Kernel for JoinColumn<'_, A, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = self.values.iter().step_by(self.stride);
        for (i, (result, &x)) in self.results.iter_mut().zip(values).enumerate() {
            *result = (self.join)(*result, x, self.at + i * self.stride);
        }
    }
}

/// Combines the elements of every window in row-major order, with their positions, starting from
/// `start`; `finish` receives what became of a row, its slice and its number in the slice, and
/// writes the row's results.
fn pool<T: Element, A: Copy + Send + Sync, D: bytemuck::Pod + Send + Sync>(
    windows: Windows,
    src: Input<'_>,
    (dst, dst_layout): (&mut CpuStorage, &Layout),
    start: A,
    join: impl Fn(A, T::Compute, usize) -> A + Copy + Sync,
    finish: impl Fn(&mut [A], [usize; 2], &mut [D]) + Sync,
) {
    let planes = Planes::<T, D>::new(src, dst, dst_layout, src.1.dims().len() - 2);
    let (from, to) = (planes.source(), planes.target());
    planes.run(&|rows| {
        let (mut widened, mut joined) = (Widened::<T>::new(from.columns), vec![start; to.columns]);
        let mut results = vec![D::zeroed(); to.columns];
        for row in rows {
            joined.fill(start);
            let in_slice = to.rows / to.slices;
            let window = [row.y / in_slice, row.y % in_slice];
            for z in windows.positions(0, window[0]) {
                for y in windows.positions(1, window[1]) {
                    let y = z * windows.size[1] + y;
                    join_row(&windows, &mut joined, widened.load(&row, y), y * from.columns, join);
                }
            }
            finish(&mut joined, window, &mut results);
            row.write(&results);
        }
    });
}

pub(super) fn averages(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, src.1.dims(), dst_layout.dims());
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let divide = |sums: &mut [C], [z, y]: [usize; 2], results: &mut [T]| {
            let rows = windows.counted(0, z) * windows.counted(1, y);
            for (x, sum) in sums.iter_mut().enumerate() {
                *sum = sum.div(C::from_count(rows * windows.counted(2, x)));
            }
            T::round_all(sums, results);
        };
        pool::<T, C, T>(windows, src, (dst, dst_layout), C::ZERO, |sum, x, _| sum.add(x), divide);
    });
}

/// Norms of an order, with recipes of their own for orders 1, 2 and 3.
pub(super) fn norms(op: &Op, order: f64, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, src.1.dims(), dst_layout.dims());
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let to = (dst, dst_layout);
        let round = |norms: &mut [C], _: [usize; 2], results: &mut [T]| T::round_all(norms, results);
        if order == 1.0 {
            return pool::<T, C, T>(windows, src, to, C::ZERO, |sum, x, _| sum.add(x.abs()), round);
        }
        if order == 2.0 {
            let root = |sums: &mut [C], _: [usize; 2], results: &mut [T]| {
                sums.iter_mut().for_each(|sum| *sum = FloatCompute::sqrt(*sum));
                T::round_all(sums, results);
            };
            return pool::<T, C, T>(windows, src, to, C::ZERO, |sum, x, _| FloatCompute::fma(x, x, sum), root);
        }
        let p = C::from_parameter(order);
        let root = |sums: &mut [C], _: [usize; 2], results: &mut [T]| {
            sums.iter_mut().for_each(|sum| *sum = <C as Recipes>::pow(*sum, C::ONE.div(p)));
            T::round_all(sums, results);
        };
        if order == 3.0 {
            let join = |sum: C, x: C, _| {
                let magnitude = x.abs();
                Compute::add(sum, magnitude.mul(magnitude.mul(magnitude)))
            };
            return pool::<T, C, T>(windows, src, to, C::ZERO, join, root);
        }
        let join = |sum: C, x: C, _| Compute::add(sum, <C as Recipes>::pow(x.abs(), p));
        pool::<T, C, T>(windows, src, to, C::ZERO, join, root);
    });
}

pub(super) fn maxima(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, src.1.dims(), dst_layout.dims());
    dispatch_dtype!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let round = |maxima: &mut [C], _: [usize; 2], results: &mut [T]| T::round_all(maxima, results);
        pool::<T, C, T>(windows, src, (dst, dst_layout), C::BOTTOM, |a, b, _| <C as Compute>::maximum(a, b), round);
    });
}

/// The largest element of a window so far, and its position.
type Found<C> = Option<(C, u32)>;

pub(super) fn positions(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let windows = Windows::new(op, src.1.dims(), dst_layout.dims());
    dispatch_dtype!(src.0.dtype(), T => {
        type C = <T as Element>::Compute;
        let join = |found: Found<C>, x: C, at: usize| {
            let is_largest = found.is_none_or(|(largest, _)| x > largest || x.is_nan());
            // It fits: the plane was validated to have fewer than 2^32 elements.
            if is_largest { Some((x, at as u32)) } else { found }
        };
        let place = |found: &Found<C>| found.expect("each window has an element").1;
        let to = (&mut *dst, dst_layout);
        match to.0.dtype() {
            DType::I64 => pool::<T, Found<C>, i64>(windows, src, to, None, join, |found, _, results| {
                results.iter_mut().zip(found.iter()).for_each(|(result, found)| *result = place(found).into());
            }),
            _ => pool::<T, Found<C>, u32>(windows, src, to, None, join, |found, _, results| {
                results.iter_mut().zip(found.iter()).for_each(|(result, found)| *result = place(found));
            }),
        }
    });
}
