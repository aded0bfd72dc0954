//! Running sums, products and extremes, in the order that `docs/numerics/shape.md` fixes: runs of
//! 16 elements, runs of 16 of their totals, and so on.

use super::CpuStorage;
use super::compute::Compute;
use super::element::Element;
use super::walk::{BLOCK, for_runs, gather, parallel, scatter};
use crate::{Dims, Layout, Scan, ScanOp, collapse};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::Range;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Elements per run, and runs per run of the next level.
const RADIX: usize = 16;

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 16_384;

/// What a scan computes. All functions must be `#[inline(always)]`.
trait Combine<C> {
    /// The result of no elements.
    const NOTHING: C;

    fn combine(a: C, b: C) -> C;
}

macro_rules! operations {
    ($($op:ident $nothing:ident $function:ident)*) => {$(
        struct $op;

        impl<C: Compute> Combine<C> for $op {
            const NOTHING: C = C::$nothing;

            #[inline(always)]
            fn combine(a: C, b: C) -> C {
                a.$function(b)
            }
        }
    )*};
}
operations! {
    Sum ZERO add
    Prod ONE mul
    Min TOP minimum
    Max BOTTOM maximum
}

/// For each level, starting with the runs of elements: the total of the complete parts of the
/// current, incomplete run.
struct Levels<C, F> {
    totals: SmallVec<[Option<C>; 8]>,
    runs: usize,
    operation: PhantomData<F>,
}

impl<C: Compute, F: Combine<C>> Levels<C, F> {
    fn new() -> Self {
        Self { totals: SmallVec::new(), runs: 0, operation: PhantomData }
    }

    /// Returns the total of everything before the current run of elements, combined from the
    /// highest level down; `None` at the start.
    fn before(&self) -> Option<C> {
        self.totals.iter().rev().flatten().copied().reduce(F::combine)
    }

    /// Adds a complete run of elements. If it completes a run of the next level, that run's total
    /// goes up in turn.
    fn complete(&mut self, total: C) {
        self.runs += 1;
        let (mut carry, mut runs) = (total, self.runs);
        for level in 0.. {
            if level == self.totals.len() {
                self.totals.push(None);
            }
            let total = self.totals[level].map_or(carry, |total| F::combine(total, carry));
            if !runs.is_multiple_of(RADIX) {
                self.totals[level] = Some(total);
                return;
            }
            self.totals[level] = None;
            (carry, runs) = (total, runs / RADIX);
        }
    }

    /// Computes the results of consecutive elements of one sequence.
    fn running(&mut self, exclusive: bool, values: &[C], out: &mut [C]) {
        for (values, out) in values.chunks(RADIX).zip(out.chunks_mut(RADIX)) {
            let before = self.before();
            let mut own = None;
            for (&x, o) in values.iter().zip(out) {
                let with = own.map_or(x, |own| F::combine(own, x));
                let last = if exclusive { own } else { Some(with) };
                *o = match (before, last) {
                    (Some(before), Some(last)) => F::combine(before, last),
                    (one, other) => one.or(other).unwrap_or(F::NOTHING),
                };
                own = Some(with);
            }
            self.complete(own.expect("a chunk has elements"));
        }
    }
}

/// Where the sequences start in source and destination, and the strides of their elements.
struct Sequences<T> {
    src: *const T,
    dst: *mut T,
    len: usize,
    steps: [usize; 2],
    dims: Dims,
    strides: [Dims; 2],
    exclusive: bool,
    reverse: bool,
}

// SAFETY: the pointers point to buffers that are borrowed for the whole operation; the source is
// not written, and each sequence of the destination is written by one thread.
unsafe impl<T> Sync for Sequences<T> {}

impl<T: Element> Sequences<T> {
    fn run<F: Combine<T::Compute>>(&self, sequence: usize, scratch: &mut Scratch<T>) {
        let at = |strides: &[usize]| {
            let mut offset = 0;
            for_runs(&self.dims, strides, sequence..sequence + 1, |o, _| offset = o);
            offset
        };
        let (src, dst) = (self.src.wrapping_add(at(&self.strides[0])), self.dst.wrapping_add(at(&self.strides[1])));
        let mut levels = Levels::<T::Compute, F>::new();
        for start in (0..self.len).step_by(BLOCK) {
            let range = self.indices(start..self.len.min(start + BLOCK));
            let elements = &mut scratch.elements[..range.len()];
            // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
            // written.
            unsafe { gather(src, &[self.len], &self.steps[..1], range.clone(), elements) };
            if self.reverse {
                elements.reverse();
            }
            let values = T::load(elements, &mut scratch.widened);
            let results = &mut scratch.results[..range.len()];
            T::store(results, &mut scratch.wide, |out| levels.running(self.exclusive, values, out));
            if self.reverse {
                results.reverse();
            }
            // SAFETY: the layout was validated to lie in the buffer and not to overlap itself, and
            // one thread has this sequence.
            unsafe { scatter(results, dst, &[self.len], &self.steps[1..], range) };
        }
    }

    /// Returns the indices in the dimension of a part of the sequence.
    fn indices(&self, part: Range<usize>) -> Range<usize> {
        if self.reverse { self.len - part.end..self.len - part.start } else { part }
    }
}

/// Buffers that a thread reuses from block to block. The block size is a multiple of the run
/// length.
struct Scratch<T: Element> {
    elements: Vec<T>,
    widened: Vec<T::Compute>,
    wide: Vec<T::Compute>,
    results: Vec<T>,
}

impl<T: Element> Scratch<T> {
    fn new() -> Self {
        Self {
            elements: vec![T::zeroed(); BLOCK],
            widened: vec![T::Compute::ZERO; BLOCK],
            wide: vec![T::Compute::ZERO; BLOCK],
            results: vec![T::zeroed(); BLOCK],
        }
    }
}

/// Returns the function that computes one sequence.
fn function<T: Element>(op: ScanOp) -> fn(&Sequences<T>, usize, &mut Scratch<T>) {
    match op {
        ScanOp::Sum => Sequences::run::<Sum>,
        ScanOp::Prod => Sequences::run::<Prod>,
        ScanOp::Min => Sequences::run::<Min>,
        ScanOp::Max => Sequences::run::<Max>,
    }
}

pub(super) fn scan(op: Scan, (src, src_layout): Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    let others = |layout: &Layout| {
        let other = |values: &[usize]| -> Dims {
            values.iter().enumerate().filter(|&(d, _)| d != op.dim).map(|(_, &v)| v).collect()
        };
        Layout::new(other(layout.dims()), other(layout.stride()), 0).expect("one stride per dimension")
    };
    let starts = collapse(&[&others(src_layout), &others(dst_layout)]);
    let count = others(dst_layout).elem_count();
    let [from, to] = <[Dims; 2]>::try_from(starts.strides.into_vec()).expect("one set of strides per layout");
    dispatch_dtype!(dst.dtype(), T => {
        let elements = src.as_slice::<T>().expect("the dtype was validated");
        let results = dst.as_mut_slice::<T>().expect("the dtype was dispatched on");
        let sequences = Sequences {
            src: elements.as_ptr().wrapping_add(src_layout.start_offset()),
            dst: results.as_mut_ptr().wrapping_add(dst_layout.start_offset()),
            len: dst_layout.dims()[op.dim],
            steps: [src_layout.stride()[op.dim], dst_layout.stride()[op.dim]],
            dims: starts.dims,
            strides: [from, to],
            exclusive: op.exclusive,
            reverse: op.reverse,
        };
        let run = function::<T>(op.op);
        parallel(count, SERIAL.div_ceil(sequences.len), &|range| {
            let mut scratch = Scratch::new();
            range.for_each(|s| run(&sequences, s, &mut scratch));
        });
    });
}
