//! Reductions, in the order that `docs/numerics.md` section 8 fixes: segments, lanes, a tree of lanes, and segments again.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::vector::{Kernel, vectorised};
use super::walk::{BLOCK, dispatch_float, for_runs, gather, parallel};
use crate::{Collapsed, Dims, Layout, Reduce, ReduceOp, collapse};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

pub(super) const SEGMENT: usize = 65_536;
const LANES: usize = 256;

/// Elements below which splitting over threads costs more than it saves.
const SERIAL: usize = 32_768;

/// What a reduction does with the elements of one result. All functions must be `#[inline(always)]`.
trait Fold<T: Element>: 'static {
    type Acc: Copy + Send + Sync;
    type Out: Element;

    /// The start of a lane: its first element, at an index of the sequence.
    fn first(x: T::Compute, index: usize) -> Self::Acc;
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The result of `count` elements; `acc` is `None` where that is 0.
    fn finish(acc: Option<Self::Acc>, count: usize) -> Self::Out;
}

/// The lanes of a segment, fed in multiples of their number.
pub(super) struct Lanes<A>(Vec<A>);

struct FeedRows<'a, A, X, F, G> {
    lanes: &'a mut [A],
    rows: &'a [X],
    first: F,
    combine: G,
    index: usize,
}

impl<A: Copy, X: Copy, F: Fn(X, usize) -> A, G: Fn(A, A) -> A> Kernel for FeedRows<'_, A, X, F, G> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut index = self.index;
        for row in self.rows.chunks(LANES) {
            for (l, (acc, &x)) in self.lanes.iter_mut().zip(row).enumerate() {
                *acc = (self.combine)(*acc, (self.first)(x, index + l));
            }
            index += LANES;
        }
    }
}

impl<A: Copy> Lanes<A> {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(LANES))
    }

    /// Adds elements that follow those before; `index` is that of their first in the sequence.
    pub(super) fn feed<X: Copy>(
        &mut self,
        mut elements: &[X],
        mut index: usize,
        first: impl Fn(X, usize) -> A + Copy,
        combine: impl Fn(A, A) -> A,
    ) {
        if self.0.is_empty() {
            let row;
            (row, elements) = elements.split_at(elements.len().min(LANES));
            self.0.extend(row.iter().enumerate().map(|(l, &x)| first(x, index + l)));
            index += row.len();
        }
        vectorised(FeedRows { lanes: &mut self.0, rows: elements, first, combine, index });
    }

    /// The value of the segment, if it has elements; the lanes are empty afterwards.
    pub(super) fn take(&mut self, combine: impl Fn(A, A) -> A) -> Option<A> {
        let lanes = &mut self.0;
        let mut apart = LANES / 2;
        while apart > 0 {
            for l in 0..apart.min(lanes.len().saturating_sub(apart)) {
                lanes[l] = combine(lanes[l], lanes[l + apart]);
            }
            apart /= 2;
        }
        let value = lanes.first().copied();
        lanes.clear();
        value
    }
}

/// The segments' values, reduced by the same rule until one is left.
pub(super) fn reduce_segments<A: Copy>(
    mut values: Vec<A>,
    lanes: &mut Lanes<A>,
    combine: impl Fn(A, A) -> A + Copy,
) -> Option<A> {
    while values.len() > 1 {
        values = values
            .chunks(SEGMENT)
            .filter_map(|segment| {
                lanes.feed(segment, 0, |value, _| value, combine);
                lanes.take(combine)
            })
            .collect();
    }
    values.pop()
}

/// What a thread reuses from segment to segment.
struct Scratch<T: Element, A> {
    elements: Box<[T]>,
    widened: Box<[T::Compute]>,
    lanes: Lanes<A>,
}

impl<T: Element, A: Copy> Scratch<T, A> {
    fn new() -> Self {
        Self {
            elements: vec![T::zeroed(); BLOCK].into(),
            widened: vec![bytemuck::Zeroable::zeroed(); BLOCK].into(),
            lanes: Lanes::new(),
        }
    }
}

/// The elements that reduce to each result, and where the results go.
struct Plan<T, O> {
    src: *const T,
    dst: *mut O,
    /// The reduced dimensions, in the source.
    inner: Collapsed,
    /// How many elements reduce to one result.
    count: usize,
    /// The kept dimensions, in the source and in the destination.
    outer: Collapsed,
    results: usize,
}

// SAFETY: the pointers are into a source that is borrowed and read, and a destination that is borrowed alone, of which threads write disjoint elements.
unsafe impl<T: Sync, O: Send> Sync for Plan<T, O> {}

impl<T: Element, O: Element> Plan<T, O> {
    fn new(dims: &[usize], src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) -> Self {
        let part = |layout: &Layout, reduced: bool| {
            let of = |values: &[usize]| -> Dims {
                values.iter().enumerate().filter(|(d, _)| dims.contains(d) == reduced).map(|(_, &v)| v).collect()
            };
            Layout::new(of(src_layout.dims()), of(layout.stride()), 0).expect("one stride a dimension")
        };
        let reduced = part(src_layout, true);
        let (kept, results) = (part(src_layout, false), part(dst_layout, false));
        let src = src.as_slice::<T>().expect("the dtype was dispatched on").as_ptr();
        let dst = dst.as_mut_slice::<O>().expect("the dtype was validated").as_mut_ptr();
        Self {
            // A layout without elements may have any offset, and none of its elements is touched.
            src: src.wrapping_add(src_layout.start_offset()),
            dst: dst.wrapping_add(dst_layout.start_offset()),
            count: reduced.elem_count(),
            inner: collapse(&[&reduced]),
            results: kept.elem_count(),
            outer: collapse(&[&kept, &results]),
        }
    }

    /// The offsets of a result's first element and of the result.
    fn offsets(&self, result: usize) -> (usize, usize) {
        let at = |strides: &[usize]| {
            let mut offset = 0;
            for_runs(&self.outer.dims, strides, result..result + 1, |o, _| offset = o);
            offset
        };
        (at(&self.outer.strides[0]), at(&self.outer.strides[1]))
    }

    /// The value of one segment of one result.
    fn segment<F: Fold<T>>(
        &self,
        offset: usize,
        range: Range<usize>,
        scratch: &mut Scratch<T, F::Acc>,
    ) -> Option<F::Acc> {
        let contiguous = matches!((&self.inner.dims[..], &self.inner.strides[0][..]), ([], _) | ([_], [1]));
        let mut start = range.start;
        while start < range.end {
            let block = start..range.end.min(start + BLOCK);
            let base = self.src.wrapping_add(offset);
            let elements = if contiguous {
                // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written.
                unsafe { std::slice::from_raw_parts(base.add(start), block.len()) }
            } else {
                let out = &mut scratch.elements[..block.len()];
                // SAFETY: as above.
                unsafe { gather(base, &self.inner.dims, &self.inner.strides[0], block.clone(), out) };
                out
            };
            scratch.lanes.feed(T::load(elements, &mut scratch.widened), start, F::first, F::combine);
            start = block.end;
        }
        scratch.lanes.take(F::combine)
    }

    fn segment_range(&self, segment: usize) -> Range<usize> {
        segment * SEGMENT..self.count.min((segment + 1) * SEGMENT)
    }

    fn write(&self, offset: usize, value: O) {
        // SAFETY: the destination was validated to lie in its buffer and not to overlap itself, and each result is written once, by one thread.
        unsafe { *self.dst.wrapping_add(offset) = value };
    }

    fn run<F: Fold<T, Out = O>>(&self) {
        let whole = |scratch: &mut Scratch<T, F::Acc>, result: usize| {
            let (src, dst) = self.offsets(result);
            let values = (0..self.count.div_ceil(SEGMENT))
                .filter_map(|s| self.segment::<F>(src, self.segment_range(s), scratch))
                .collect();
            self.write(dst, F::finish(reduce_segments(values, &mut scratch.lanes, F::combine), self.count));
        };
        if self.results >= rayon::current_num_threads() || self.count <= SEGMENT {
            parallel(self.results, (SERIAL / self.count.max(1)).max(1), &|results| {
                let mut scratch = Scratch::new();
                results.for_each(|r| whole(&mut scratch, r));
            });
        } else {
            let segments = self.count.div_ceil(SEGMENT);
            for result in 0..self.results {
                let (src, dst) = self.offsets(result);
                let values: Vec<_> = (0..segments).map(|_| OnceLock::new()).collect();
                parallel(segments, 1, &|range| {
                    let mut scratch = Scratch::new();
                    for s in range {
                        let value = self.segment::<F>(src, self.segment_range(s), &mut scratch);
                        values[s].get_or_init(|| value);
                    }
                });
                let values = values.into_iter().filter_map(|v| v.into_inner().flatten()).collect();
                self.write(dst, F::finish(reduce_segments(values, &mut Lanes::new(), F::combine), self.count));
            }
        }
    }
}

/// A fold whose accumulator is a value of the compute type.
macro_rules! folds {
    ($($op:ident<$bound:ident>($a:ident, $b:ident) => $combine:expr, $empty:expr, ($acc:ident, $count:ident) => $finish:expr;)*) => {$(
        struct $op;

        impl<T: Element<Compute: $bound>> Fold<T> for $op {
            type Acc = T::Compute;
            type Out = T;

            #[inline(always)]
            fn first(x: T::Compute, _: usize) -> T::Compute {
                x
            }

            #[inline(always)]
            fn combine($a: T::Compute, $b: T::Compute) -> T::Compute {
                $combine
            }

            #[inline(always)]
            fn finish(acc: Option<T::Compute>, $count: usize) -> T {
                let $acc = acc.unwrap_or_else(|| $empty);
                T::round($finish)
            }
        }
    )*};
}
folds! {
    Sum<Compute>(a, b) => a.add(b), T::Compute::ZERO, (acc, _count) => acc;
    Prod<Compute>(a, b) => a.mul(b), T::Compute::ONE, (acc, _count) => acc;
    Mean<FloatCompute>(a, b) => a.add(b), T::Compute::ZERO, (acc, count) => acc.div(T::Compute::from_count(count));
    Min<Compute>(a, b) => a.minimum(b), unreachable!("validated to have elements"), (acc, _count) => acc;
    Max<Compute>(a, b) => a.maximum(b), unreachable!("validated to have elements"), (acc, _count) => acc;
}

/// The element that goes first: the first NaN, else the first of those that `$before` the others.
macro_rules! arg_folds {
    ($($op:ident $before:tt)*) => {$(
        struct $op<T>(PhantomData<T>);

        impl<T: Element> Fold<T> for $op<T> {
            type Acc = (T::Compute, u32);
            type Out = u32;

            #[inline(always)]
            fn first(x: T::Compute, index: usize) -> Self::Acc {
                (x, index as u32)
            }

            #[inline(always)]
            fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                let earlier = a.1 < b.1;
                let a_goes = if a.0.is_nan() || b.0.is_nan() {
                    a.0.is_nan() && (!b.0.is_nan() || earlier)
                } else {
                    a.0 $before b.0 || (a.0 == b.0 && earlier)
                };
                if a_goes { a } else { b }
            }

            #[inline(always)]
            fn finish(acc: Option<Self::Acc>, _: usize) -> u32 {
                acc.expect("validated to have elements").1
            }
        }
    )*};
}
arg_folds! { ArgMin < ArgMax > }

pub(super) fn reduce(op: &Reduce, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    macro_rules! run {
        ($T:ty, $O:ty, $fold:ty) => {
            Plan::<$T, $O>::new(&op.dims, src, src_layout, dst, dst_layout).run::<$fold>()
        };
    }
    if op.op == ReduceOp::Mean {
        return dispatch_float!(src.dtype(), T => run!(T, T, Mean));
    }
    dispatch_dtype!(src.dtype(), T => match op.op {
        ReduceOp::Sum => run!(T, T, Sum),
        ReduceOp::Prod => run!(T, T, Prod),
        ReduceOp::Min => run!(T, T, Min),
        ReduceOp::Max => run!(T, T, Max),
        ReduceOp::ArgMin => run!(T, u32, ArgMin<T>),
        ReduceOp::ArgMax => run!(T, u32, ArgMax<T>),
        ReduceOp::Mean => unreachable!("done above"),
    })
}
