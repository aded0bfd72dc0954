//! Reductions, in the order that `docs/numerics.md` section 8 fixes: segments, lanes, a tree of
//! lanes, and segments again.

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

/// Elements below which splitting over threads costs more than it saves.
const SERIAL: usize = 32_768;

/// What a reduction does with the values of one result. All functions must be `#[inline(always)]`.
trait Fold<C>: Send + 'static {
    type Acc: Copy + Send + 'static;
    /// What the result is before it is rounded.
    type Out: bytemuck::Pod;

    /// The start of a lane: its first element, at an index of the sequence.
    fn first(x: C, index: usize) -> Self::Acc;
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `acc` is `None` where there are no elements.
    fn finish(acc: Option<Self::Acc>) -> Self::Out;
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

/// The segments' values, reduced by the same rule until one is left. They are few, so that this
/// loop is not a vectorised one.
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

/// The bytes of a value of at most 8.
type Cell = [u8; 8];

fn cell<V: bytemuck::Pod>(value: V) -> Cell {
    let mut cell = Cell::default();
    cell[..size_of::<V>()].copy_from_slice(bytemuck::bytes_of(&value));
    cell
}

fn of_cell<V: bytemuck::Pod>(cell: Cell) -> V {
    bytemuck::pod_read_unaligned(&cell[..size_of::<V>()])
}

/// The reduction of one result on its way, of types that it alone knows: all that leads elements to
/// it is compiled once.
trait Folding: Any + Send {
    /// Adds values that follow those before; `index` is that of their first in the sequence.
    fn feed(&mut self, values: &[u8], index: usize);

    /// The segment is complete.
    fn end_segment(&mut self);

    /// Adds the segments of another part of the sequence, which follow those before.
    fn append(&mut self, other: Box<dyn Folding>);

    /// The result, before it is rounded; the next begins.
    fn finish(&mut self) -> Cell;
}

struct State<C, F: Fold<C>> {
    lanes: Lanes<F::Acc>,
    /// Those of complete segments.
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

/// What a thread reuses from block to block.
#[derive(Default)]
struct Scratch {
    elements: Buffer,
    widened: Buffer,
}

/// The elements that reduce to each result, and where the results go.
struct Plan {
    src: *const u8,
    codec: Codec,
    dst: *mut u8,
    dtype: DType,
    /// The reduced dimensions, in the source.
    inner: Collapsed,
    /// How many elements reduce to one result.
    count: usize,
    /// The kept dimensions, in the source and in the destination.
    outer: Collapsed,
    results: usize,
    op: ReduceOp,
    /// Begins a result.
    start: fn() -> Box<dyn Folding>,
}

// SAFETY: the pointers are into a source that is borrowed and read, and a destination that is
// borrowed alone, of which threads write disjoint elements.
unsafe impl Sync for Plan {}

impl Plan {
    fn new(op: &Reduce, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) -> Self {
        let part = |layout: &Layout, reduced: bool| {
            let of = |values: &[usize]| -> Dims {
                values.iter().enumerate().filter(|(d, _)| op.dims.contains(d) == reduced).map(|(_, &v)| v).collect()
            };
            Layout::new(of(src_layout.dims()), of(layout.stride()), 0).expect("one stride a dimension")
        };
        let reduced = part(src_layout, true);
        let (kept, results) = (part(src_layout, false), part(dst_layout, false));
        let (from, into) = (src.dtype(), dst.dtype());
        Self {
            // A layout without elements may have any offset, and none of its elements is touched.
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

    /// The offsets of a result's first element and of the result.
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

/// A fold whose accumulator is a value of the compute type.
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

/// The element that goes first: the first NaN, else the first of those that `$before` the others.
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

/// What begins a result; a mean is a sum until it is written.
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
