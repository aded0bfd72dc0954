//! Reductions, in the order that `docs/numerics.md` section 8 fixes: each segment is reduced in
//! lanes, the lanes by a tree, and the segments by the same rule again. `folds` has what is
//! computed in this order.

mod folds;

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::{Codec, Element};
use super::vector::{Kernel, vectorised};
use super::walk::{BLOCK, Buffer, dispatch_float_compute, for_runs, gather_bits, parallel};
use crate::{Collapsed, DType, Dims, Layout, Reduce, ReduceOp, collapse};
use folds::Seed;
use parking_lot::Mutex;
use std::any::Any;
use std::marker::PhantomData;
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

    /// Whether [`prepare`](Self::prepare) changes the elements.
    const PREPARES: bool = false;

    /// Returns what takes the place of an element; the seed is known of the whole sequence.
    #[inline(always)]
    fn prepare(x: C, seed: C) -> C {
        let _ = seed;
        x
    }

    /// Starts a lane with its first element, which has this index in the sequence.
    fn first(x: C, index: usize) -> Self::Acc;
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `acc` is `None` if there are no elements.
    fn finish(acc: Option<Self::Acc>, seed: C) -> Self::Out;
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

/// Combines the lanes in the first one.
struct Tree<'a, A, G> {
    lanes: &'a mut [A],
    combine: G,
}

impl<A: Copy, G: Fn(A, A) -> A> Kernel for Tree<'_, A, G> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut apart = LANES / 2;
        while apart > 0 {
            for l in 0..apart.min(self.lanes.len().saturating_sub(apart)) {
                self.lanes[l] = (self.combine)(self.lanes[l], self.lanes[l + apart]);
            }
            apart /= 2;
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
        vectorised(Tree { lanes: &mut self.0, combine });
        let value = self.0.first().copied();
        self.0.clear();
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
    /// Starts a result with what is known about its sequence.
    fn begin(&mut self, seed: Cell);

    /// Adds the next values; `index` is the index of the first one in the sequence.
    fn feed(&mut self, values: &[u8], index: usize);

    /// Completes the segment.
    fn end_segment(&mut self);

    /// Appends the segments of the next part of the sequence.
    fn append(&mut self, other: Box<dyn Folding>);

    /// Returns the result before rounding, and empties the state.
    fn finish(&mut self) -> Cell;
}

struct State<C, F: Fold<C>> {
    seed: C,
    prepared: Vec<C>,
    lanes: Lanes<F::Acc>,
    /// The values of complete segments.
    values: Vec<F::Acc>,
}

impl<C: Compute, F: Fold<C>> Folding for State<C, F> {
    fn begin(&mut self, seed: Cell) {
        self.seed = of_cell(seed);
    }

    fn feed(&mut self, values: &[u8], index: usize) {
        let values = bytemuck::cast_slice::<_, C>(values);
        if F::PREPARES {
            self.prepared.resize(values.len(), C::ZERO);
            let (seed, operation) = (self.seed, PhantomData::<F>);
            vectorised(Prepare { values, out: &mut self.prepared, seed, operation });
            self.lanes.feed(&self.prepared, index, F::first, F::combine);
        } else {
            self.lanes.feed(values, index, F::first, F::combine);
        }
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
        cell(F::finish(value, self.seed))
    }
}

struct Prepare<'a, C, F> {
    values: &'a [C],
    out: &'a mut [C],
    seed: C,
    operation: PhantomData<F>,
}

impl<C: Compute, F: Fold<C>> Kernel for Prepare<'_, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (o, &x) in self.out.iter_mut().zip(self.values) {
            *o = F::prepare(x, self.seed);
        }
    }
}

/// Starts the reduction of a result.
type Start = fn() -> Box<dyn Folding>;

fn state<C: Compute, F: Fold<C>>() -> Box<dyn Folding> {
    Box::new(State::<C, F> { seed: C::ZERO, prepared: Vec::new(), lanes: Lanes::new(), values: Vec::new() })
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
    /// Number of elements by which a variance divides.
    divisor: usize,
    /// Starts a result.
    start: Start,
    seed: Seed,
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
            divisor: op.divisor(reduced.elem_count()),
            start: folds::start(op.op, from),
            seed: Seed::of(op.op, from),
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
            ReduceOp::Mean | ReduceOp::L2Norm | ReduceOp::Var | ReduceOp::Std => {
                dispatch_float_compute!(self.dtype, C => cell(self.completed::<C>(of_cell(value))))
            }
            ReduceOp::ArgMin | ReduceOp::ArgMax if self.dtype == DType::I64 => cell(i64::from(of_cell::<u32>(value))),
            _ => value,
        };
        crate::dispatch_dtype!(self.dtype, T => {
            let value = <T as Element>::round(of_cell(value));
            // SAFETY: the destination was validated to lie in its buffer and not to overlap itself,
            // and each result is written once, by one thread.
            unsafe { *self.dst.cast::<T>().wrapping_add(offset) = value };
        });
    }

    /// Returns the result for a sum of elements, of their squares, or of squared deviations.
    fn completed<C: FloatCompute>(&self, sum: C) -> C {
        match self.op {
            ReduceOp::Mean => sum.div(C::from_count(self.count)),
            ReduceOp::Var => sum.div(C::from_count(self.divisor)),
            ReduceOp::Std => sum.div(C::from_count(self.divisor)).sqrt(),
            _ => sum.sqrt(),
        }
    }

    /// Reduces the sequence that starts at an offset.
    fn value(&self, src: usize, seed: Cell, scratch: &mut Scratch, folding: &mut dyn Folding) -> Cell {
        folding.begin(seed);
        for s in 0..self.segments() {
            self.segment(src, self.segment_range(s), scratch, folding);
        }
        folding.finish()
    }

    /// The same, with the segments on several threads.
    fn value_of_many(&self, src: usize, seed: Cell, start: Start) -> Cell {
        let segments = self.segments();
        let begun = || {
            let mut folding = start();
            folding.begin(seed);
            folding
        };
        let parts: Vec<Mutex<Option<Box<dyn Folding>>>> = (0..segments).map(|_| Mutex::default()).collect();
        parallel(segments, 1, &|range| {
            let mut scratch = Scratch::default();
            for s in range {
                let mut folding = begun();
                self.segment(src, self.segment_range(s), &mut scratch, &mut *folding);
                *parts[s].lock() = Some(folding);
            }
        });
        let mut whole = begun();
        for part in parts {
            whole.append(part.into_inner().expect("each was fed"));
        }
        whole.finish()
    }

    /// Returns the seed of the sequence that starts at an offset; `reduce` reduces it.
    fn seed(&self, src: usize, reduce: impl FnOnce(Start) -> Cell) -> Cell {
        match self.seed {
            Seed::First if self.count > 0 => {
                let size = self.codec.size;
                // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
                // written, and the sequence has an element.
                let first = unsafe { std::slice::from_raw_parts(self.src.add(src * size), size) };
                let mut seed = Cell::default();
                let mut buffer = Buffer::default();
                seed[..self.codec.wide_size].copy_from_slice(self.codec.widened(first, &mut buffer));
                seed
            }
            Seed::Reduced(start) => reduce(start),
            Seed::First | Seed::Unused => Cell::default(),
        }
    }

    fn segments(&self) -> usize {
        self.count.div_ceil(SEGMENT)
    }

    fn run(&self) {
        if self.results >= rayon::current_num_threads() || self.count <= SEGMENT {
            parallel(self.results, (SERIAL / self.count.max(1)).max(1), &|results| {
                let (mut scratch, mut folding) = (Scratch::default(), (self.start)());
                for result in results {
                    let (src, dst) = self.offsets(result);
                    let nothing = Cell::default();
                    let seed = self.seed(src, |start| self.value(src, nothing, &mut scratch, &mut *start()));
                    self.write(dst, self.value(src, seed, &mut scratch, &mut *folding));
                }
            });
        } else {
            for result in 0..self.results {
                let (src, dst) = self.offsets(result);
                let seed = self.seed(src, |start| self.value_of_many(src, Cell::default(), start));
                self.write(dst, self.value_of_many(src, seed, self.start));
            }
        }
    }
}

pub(super) fn reduce(op: &Reduce, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    Plan::new(op, src, src_layout, dst, dst_layout).run();
}
