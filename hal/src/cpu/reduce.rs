//! Reductions, in the order that `docs/numerics.md` section 8 fixes: each segment is reduced in
//! lanes, the lanes by a tree, and the segments by the same rule again.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::{Codec, Element};
use super::vector::{Kernel, vectorised};
use super::walk::{BLOCK, Buffer, dispatch_compute, dispatch_float_compute, for_runs, gather_bits, parallel};
use crate::{Collapsed, DType, Dims, Layout, Reduce, ReduceOp, collapse};
use parking_lot::Mutex;
use std::any::Any;
use std::ops::Range;

pub(super) const SEGMENT: usize = 65_536;
const LANES: usize = 256;

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 32_768;

/// How a reduction combines the values of one result. All functions must be `#[inline(always)]`.
trait Fold<C>: Send + 'static {
    type Acc: Copy + Send + 'static;
    /// Type of the result before rounding.
    type Out: bytemuck::Pod;

    /// Starts a lane with its first element, which has this index in the sequence.
    fn first(x: C, index: usize) -> Self::Acc;
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `acc` is `None` if there are no elements.
    fn finish(acc: Option<Self::Acc>) -> Self::Out;
}

/// The lanes of a segment. Elements are fed in multiples of the number of lanes.
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

    /// Adds the next elements; `index` is the index of the first one in the sequence.
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

    /// Returns the value of the segment, or `None` if it has no elements, and empties the lanes.
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

/// Reduces the segments' values by the same rule until one is left. They are few, so this loop is
/// not vectorised.
pub(super) fn reduce_segments<A: Copy>(
    mut values: Vec<A>,
    lanes: &mut Lanes<A>,
    combine: impl Fn(A, A) -> A + Copy,
) -> Option<A> {
    while values.len() > 1 {
        let mut next = Vec::with_capacity(values.len().div_ceil(SEGMENT));
        for segment in values.chunks(SEGMENT) {
            let (first, rest) = segment.split_at(segment.len().min(LANES));
            lanes.0.extend_from_slice(first);
            for row in rest.chunks(LANES) {
                lanes.0.iter_mut().zip(row).for_each(|(acc, &x)| *acc = combine(*acc, x));
            }
            next.extend(lanes.take(combine));
        }
        values = next;
    }
    values.pop()
}

/// The bytes of a value of at most 8 bytes.
type Cell = [u8; 8];

fn cell<V: bytemuck::Pod>(value: V) -> Cell {
    let mut cell = Cell::default();
    cell[..size_of::<V>()].copy_from_slice(bytemuck::bytes_of(&value));
    cell
}

fn of_cell<V: bytemuck::Pod>(cell: Cell) -> V {
    bytemuck::pod_read_unaligned(&cell[..size_of::<V>()])
}

/// The state of the reduction of one result. Its types are hidden, so that the code that feeds it
/// is compiled only once.
trait Folding: Any + Send {
    /// Adds the next values; `index` is the index of the first one in the sequence.
    fn feed(&mut self, values: &[u8], index: usize);

    /// Completes the segment.
    fn end_segment(&mut self);

    /// Appends the segments of the next part of the sequence.
    fn append(&mut self, other: Box<dyn Folding>);

    /// Returns the result before rounding, and starts the next one.
    fn finish(&mut self) -> Cell;
}

struct State<C, F: Fold<C>> {
    lanes: Lanes<F::Acc>,
    /// The values of complete segments.
    values: Vec<F::Acc>,
}

impl<C: Compute, F: Fold<C>> Folding for State<C, F> {
    fn feed(&mut self, values: &[u8], index: usize) {
        self.lanes.feed(bytemuck::cast_slice::<_, C>(values), index, F::first, F::combine);
    }

    fn end_segment(&mut self) {
        self.values.extend(self.lanes.take(F::combine));
    }

    fn append(&mut self, other: Box<dyn Folding>) {
        let other: Box<Self> = (other as Box<dyn Any>).downcast().expect("parts of one reduction");
        self.values.extend(other.values);
    }

    fn finish(&mut self) -> Cell {
        let value = match self.values[..] {
            [] | [_] => self.values.pop(),
            _ => reduce_segments(std::mem::take(&mut self.values), &mut self.lanes, F::combine),
        };
        cell(F::finish(value))
    }
}

fn state<C: Compute, F: Fold<C>>() -> Box<dyn Folding> {
    Box::new(State::<C, F> { lanes: Lanes::new(), values: Vec::new() })
}

/// Buffers that a thread reuses from block to block.
#[derive(Default)]
struct Scratch {
    elements: Buffer,
    widened: Buffer,
}

/// Which elements reduce to each result, and where the results go.
struct Plan {
    src: *const u8,
    codec: Codec,
    dst: *mut u8,
    dtype: DType,
    /// The reduced dimensions, in the source.
    inner: Collapsed,
    /// Number of elements per result.
    count: usize,
    /// The kept dimensions, in the source and in the destination.
    outer: Collapsed,
    results: usize,
    op: ReduceOp,
    /// Starts a result.
    start: fn() -> Box<dyn Folding>,
}

// SAFETY: the pointers point into a source that is borrowed and only read, and a destination that
// is borrowed exclusively and of which threads write disjoint elements.
unsafe impl Sync for Plan {}

impl Plan {
    fn new(op: &Reduce, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) -> Self {
        let part = |layout: &Layout, reduced: bool| {
            let of = |values: &[usize]| -> Dims {
                values.iter().enumerate().filter(|(d, _)| op.dims.contains(d) == reduced).map(|(_, &v)| v).collect()
            };
            Layout::new(of(src_layout.dims()), of(layout.stride()), 0).expect("one stride per dimension")
        };
        let reduced = part(src_layout, true);
        let (kept, results) = (part(src_layout, false), part(dst_layout, false));
        let (from, into) = (src.dtype(), dst.dtype());
        Self {
            // An empty layout may have any offset; none of its elements is accessed.
            src: src.as_bytes().as_ptr().wrapping_add(src_layout.start_offset() * from.size_in_bytes()),
            codec: Codec::of(from),
            dst: dst.as_bytes_mut().as_mut_ptr().wrapping_add(dst_layout.start_offset() * into.size_in_bytes()),
            dtype: into,
            count: reduced.elem_count(),
            inner: collapse(&[&reduced]),
            results: kept.elem_count(),
            outer: collapse(&[&kept, &results]),
            op: op.op,
            start: dispatch_compute!(from, C => fold::<C>(op.op)),
        }
    }

    /// Returns the offsets of a result's first element and of the result.
    fn offsets(&self, result: usize) -> (usize, usize) {
        let at = |strides: &[usize]| {
            let mut offset = 0;
            for_runs(&self.outer.dims, strides, result..result + 1, |o, _| offset = o);
            offset
        };
        (at(&self.outer.strides[0]), at(&self.outer.strides[1]))
    }

    /// Feeds one segment of one result.
    fn segment(&self, offset: usize, range: Range<usize>, scratch: &mut Scratch, folding: &mut dyn Folding) {
        let contiguous = matches!((&self.inner.dims[..], &self.inner.strides[0][..]), ([], _) | ([_], [1]));
        let size = self.codec.size;
        let base = self.src.wrapping_add(offset * size);
        let mut start = range.start;
        while start < range.end {
            let block = start..range.end.min(start + BLOCK);
            let elements = if contiguous {
                // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
                // written.
                unsafe { std::slice::from_raw_parts(base.add(start * size), block.len() * size) }
            } else {
                let out = scratch.elements.bytes(block.len() * size);
                // SAFETY: as above; `out` has room for the block.
                unsafe {
                    gather_bits(size, base, &self.inner.dims, &self.inner.strides[0], block.clone(), out.as_mut_ptr());
                }
                out
            };
            folding.feed(self.codec.widened(elements, &mut scratch.widened), start);
            start = block.end;
        }
        folding.end_segment();
    }

    fn segment_range(&self, segment: usize) -> Range<usize> {
        segment * SEGMENT..self.count.min((segment + 1) * SEGMENT)
    }

    /// Writes a result.
    fn write(&self, offset: usize, value: Cell) {
        let value = match self.op {
            ReduceOp::Mean => dispatch_float_compute!(self.dtype, C => {
                cell(of_cell::<C>(value).div(C::from_count(self.count)))
            }),
            _ => value,
        };
        crate::dispatch_dtype!(self.dtype, T => {
            let value = <T as Element>::round(of_cell(value));
            // SAFETY: the destination was validated to lie in its buffer and not to overlap itself,
            // and each result is written once, by one thread.
            unsafe { *self.dst.cast::<T>().wrapping_add(offset) = value };
        });
    }

    fn run(&self) {
        let segments = self.count.div_ceil(SEGMENT);
        if self.results >= rayon::current_num_threads() || self.count <= SEGMENT {
            parallel(self.results, (SERIAL / self.count.max(1)).max(1), &|results| {
                let (mut scratch, mut folding) = (Scratch::default(), (self.start)());
                for result in results {
                    let (src, dst) = self.offsets(result);
                    (0..segments).for_each(|s| self.segment(src, self.segment_range(s), &mut scratch, &mut *folding));
                    self.write(dst, folding.finish());
                }
            });
        } else {
            for result in 0..self.results {
                let (src, dst) = self.offsets(result);
                let parts: Vec<Mutex<Option<Box<dyn Folding>>>> = (0..segments).map(|_| Mutex::default()).collect();
                parallel(segments, 1, &|range| {
                    let mut scratch = Scratch::default();
                    for s in range {
                        let mut folding = (self.start)();
                        self.segment(src, self.segment_range(s), &mut scratch, &mut *folding);
                        *parts[s].lock() = Some(folding);
                    }
                });
                let mut whole = (self.start)();
                for part in parts {
                    whole.append(part.into_inner().expect("each was fed"));
                }
                self.write(dst, whole.finish());
            }
        }
    }
}

/// Defines folds whose accumulator is a value of the compute type.
macro_rules! folds {
    ($($op:ident($a:ident, $b:ident) => $combine:expr, $empty:expr;)*) => {$(
        struct $op;

        impl<C: Compute> Fold<C> for $op {
            type Acc = C;
            type Out = C;

            #[inline(always)]
            fn first(x: C, _: usize) -> C {
                x
            }

            #[inline(always)]
            fn combine($a: C, $b: C) -> C {
                $combine
            }

            #[inline(always)]
            fn finish(acc: Option<C>) -> C {
                acc.unwrap_or_else(|| $empty)
            }
        }
    )*};
}
folds! {
    Sum(a, b) => a.add(b), C::ZERO;
    Prod(a, b) => a.mul(b), C::ONE;
    Min(a, b) => a.minimum(b), unreachable!("validated to have elements");
    Max(a, b) => a.maximum(b), unreachable!("validated to have elements");
}

/// Defines folds that choose one element: the first NaN if there is one, otherwise the first
/// element that is `$before` all others.
macro_rules! arg_folds {
    ($($op:ident $before:tt)*) => {$(
        struct $op;

        impl<C: Compute> Fold<C> for $op {
            type Acc = (C, u32);
            type Out = u32;

            #[inline(always)]
            fn first(x: C, index: usize) -> Self::Acc {
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
            fn finish(acc: Option<Self::Acc>) -> u32 {
                acc.expect("validated to have elements").1
            }
        }
    )*};
}
arg_folds! { ArgMin < ArgMax > }

/// Returns the function that starts a result. A mean is a sum until it is written.
fn fold<C: Compute>(op: ReduceOp) -> fn() -> Box<dyn Folding> {
    match op {
        ReduceOp::Sum | ReduceOp::Mean => state::<C, Sum>,
        ReduceOp::Prod => state::<C, Prod>,
        ReduceOp::Min => state::<C, Min>,
        ReduceOp::Max => state::<C, Max>,
        ReduceOp::ArgMin => state::<C, ArgMin>,
        ReduceOp::ArgMax => state::<C, ArgMax>,
    }
}

pub(super) fn reduce(op: &Reduce, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    Plan::new(op, src, src_layout, dst, dst_layout).run();
}
