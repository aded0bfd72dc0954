//! Cumulative sums, in the order that `docs/numerics/shape.md` fixes: runs of 16 elements, runs of
//! 16 of their totals, and so on.

use super::CpuStorage;
use super::compute::Compute;
use super::element::Element;
use super::walk::{BLOCK, for_runs, gather, parallel, scatter};
use crate::{CumSum, Dims, Layout, collapse};
use smallvec::SmallVec;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Elements per run, and runs per run of the next level.
const RADIX: usize = 16;

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 16_384;

/// For each level, starting with the runs of elements: the sum of the complete parts of the
/// current, incomplete run.
struct Levels<C> {
    sums: SmallVec<[Option<C>; 8]>,
    runs: usize,
}

impl<C: Compute> Levels<C> {
    fn new() -> Self {
        Self { sums: SmallVec::new(), runs: 0 }
    }

    /// Returns the sum of everything before the current run of elements, added from the highest
    /// level down; `None` at the start.
    fn before(&self) -> Option<C> {
        self.sums.iter().rev().flatten().copied().reduce(C::add)
    }

    /// Adds a complete run of elements. If it completes a run of the next level, that run's total
    /// goes up in turn.
    fn complete(&mut self, total: C) {
        self.runs += 1;
        let (mut carry, mut runs) = (total, self.runs);
        for level in 0.. {
            if level == self.sums.len() {
                self.sums.push(None);
            }
            let sum = self.sums[level].map_or(carry, |sum| sum.add(carry));
            if !runs.is_multiple_of(RADIX) {
                self.sums[level] = Some(sum);
                return;
            }
            self.sums[level] = None;
            (carry, runs) = (sum, runs / RADIX);
        }
    }
}

/// Computes the cumulative sums of consecutive elements of one sequence.
fn running<C: Compute>(levels: &mut Levels<C>, values: &[C], out: &mut [C]) {
    for (values, out) in values.chunks(RADIX).zip(out.chunks_mut(RADIX)) {
        let before = levels.before();
        let mut sum = values[0];
        for (i, (&x, o)) in values.iter().zip(out).enumerate() {
            if i > 0 {
                sum = sum.add(x);
            }
            *o = before.map_or(sum, |before| before.add(sum));
        }
        levels.complete(sum);
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
}

// SAFETY: the pointers point to buffers that are borrowed for the whole operation; the source is
// not written, and each sequence of the destination is written by one thread.
unsafe impl<T> Sync for Sequences<T> {}

impl<T: Element> Sequences<T> {
    fn run(&self, sequence: usize, scratch: &mut Scratch<T>) {
        let at = |strides: &[usize]| {
            let mut offset = 0;
            for_runs(&self.dims, strides, sequence..sequence + 1, |o, _| offset = o);
            offset
        };
        let (src, dst) = (self.src.wrapping_add(at(&self.strides[0])), self.dst.wrapping_add(at(&self.strides[1])));
        let mut levels = Levels::new();
        for start in (0..self.len).step_by(BLOCK) {
            let range = start..self.len.min(start + BLOCK);
            let elements = &mut scratch.elements[..range.len()];
            // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not
            // written.
            unsafe { gather(src, &[self.len], &self.steps[..1], range.clone(), elements) };
            let values = T::load(elements, &mut scratch.widened);
            let results = &mut scratch.results[..range.len()];
            T::store(results, &mut scratch.sums, |out| running(&mut levels, values, out));
            // SAFETY: the layout was validated to lie in the buffer and not to overlap itself, and
            // one thread has this sequence.
            unsafe { scatter(results, dst, &[self.len], &self.steps[1..], range) };
        }
    }
}

/// Buffers that a thread reuses from block to block. The block size is a multiple of the run
/// length.
struct Scratch<T: Element> {
    elements: Vec<T>,
    widened: Vec<T::Compute>,
    sums: Vec<T::Compute>,
    results: Vec<T>,
}

impl<T: Element> Scratch<T> {
    fn new() -> Self {
        Self {
            elements: vec![T::zeroed(); BLOCK],
            widened: vec![T::Compute::ZERO; BLOCK],
            sums: vec![T::Compute::ZERO; BLOCK],
            results: vec![T::zeroed(); BLOCK],
        }
    }
}

pub(super) fn cumsum(op: CumSum, (src, src_layout): Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
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
        };
        parallel(count, SERIAL.div_ceil(sequences.len), &|range| {
            let mut scratch = Scratch::new();
            range.for_each(|s| sequences.run(s, &mut scratch));
        });
    });
}
