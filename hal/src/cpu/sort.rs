//! Sorting of the last dimension: each row is sorted by keys in the order that
//! `docs/numerics/sort.md` defines, stably in both directions.
//!
//! The keys of every dtype are widened to one type, so that only one sort is compiled; values are
//! then taken from their original positions.

use super::CpuStorage;
use super::walk::{dispatch_size, for_runs, parallel};
use crate::{DType, F8E4M3, F8E5M2, Layout, Op, Sort, WithDType, collapse};
use half::{bf16, f16};
use rayon::prelude::*;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 32_768;

/// An element with a sort key.
trait Ordered: WithDType {
    /// Returns an integer that sorts like the element. +0 and -0 have the same key, and all NaNs
    /// have the largest.
    fn key(self) -> i64;
}

macro_rules! ordered_integers {
    ($($ty:ident)*) => {$(
        impl Ordered for $ty {
            fn key(self) -> i64 {
                self.into()
            }
        }
    )*};
}
ordered_integers! { u8 i8 u16 i16 u32 i32 i64 }

impl Ordered for u64 {
    fn key(self) -> i64 {
        (self ^ 1 << 63) as i64
    }
}

/// The bits of a float are its sign followed by a magnitude that compares like an integer.
macro_rules! ordered_floats {
    ($($ty:ident $bits:ident;)*) => {$(
        impl Ordered for $ty {
            fn key(self) -> i64 {
                let bits = self.to_bits() as $bits;
                let magnitude = i64::from(bits & $bits::MAX);
                if self.is_nan() {
                    i64::MAX
                } else if bits < 0 {
                    -magnitude
                } else {
                    magnitude
                }
            }
        }
    )*};
}
ordered_floats! {
    F8E4M3 i8;
    F8E5M2 i8;
    f16 i16;
    bf16 i16;
    f32 i32;
    f64 i64;
}

/// A key in the high bits and the position in the row in the low bits. No two of a row are equal,
/// so any sorting algorithm gives the stable order.
type Found = u128;

fn find<T: Ordered>(row: impl Iterator<Item = T>, sort: Sort, found: &mut Vec<Found>) {
    found.extend(row.zip(0u64..).map(|(x, position)| {
        let ascending = x.key() as u64 ^ 1 << 63;
        let key = if sort.descending { !ascending } else { ascending };
        Found::from(key) << 64 | Found::from(position)
    }));
}

fn position(found: Found) -> usize {
    found as u64 as usize
}

/// Moves the first `k` elements of the order to the front, unsorted, and returns how many there
/// are.
fn select(found: &mut [Found], k: usize) -> usize {
    if 0 < k && k < found.len() {
        found.select_nth_unstable(k - 1);
    }
    k.min(found.len())
}

/// Keeps the first `k` elements of the order, sorted.
fn sort_first(found: &mut Vec<Found>, k: usize) {
    // Each part keeps its own first `k`. This pays off only if `k` is small.
    if found.len() >= 4 * SERIAL && k <= found.len() / 8 {
        let first = |part: &mut [Found]| {
            let kept = select(part, k);
            part[..kept].to_vec()
        };
        *found = found.par_chunks_mut(SERIAL.max(4 * k)).map(first).collect::<Vec<_>>().concat();
    }
    let kept = select(found, k);
    found.truncate(kept);
    if kept < SERIAL {
        found.sort_unstable();
    } else {
        found.par_sort_unstable();
    }
}

/// Calls `write` for each row, with the offsets of its first element and of its first result, and
/// the first elements of its order.
fn each_row((src, sl): Input<'_>, dl: &Layout, sort: Sort, write: &(dyn Fn(usize, usize, &[Found]) + Sync)) {
    if dl.elem_count() == 0 {
        return;
    }
    let last = sl.dims().len() - 1;
    let (n, k) = (sl.dims()[last], dl.dims()[last]);
    let rows_of =
        |l: &Layout| Layout::new(&l.dims()[..last], &l.stride()[..last], 0).expect("one stride per dimension");
    let (from, to) = (rows_of(sl), rows_of(dl));
    let rows = collapse(&[&from, &to]);
    let at = |strides: &[usize], row: usize| {
        let mut offset = 0;
        for_runs(&rows.dims, strides, row..row + 1, |o, _| offset = o);
        offset
    };
    parallel(from.elem_count(), (SERIAL / n).max(1), &|range| {
        let mut found = Vec::with_capacity(n);
        for row in range {
            found.clear();
            let first = sl.start_offset() + at(&rows.strides[0], row);
            let places = (0..n).map(|i| first + i * sl.stride()[last]);
            dispatch_dtype!(src.dtype(), T => {
                let elements = src.as_slice::<T>().expect("the dtype was dispatched on");
                find(places.map(|place| elements[place]), sort, &mut found);
            });
            sort_first(&mut found, k);
            write(first, dl.start_offset() + at(&rows.strides[1], row), &found);
        }
    });
}

/// An element of a sorted tensor.
pub(super) struct Sorted {
    /// Its position in the row-major order of the tensor.
    pub position: usize,
    /// Whether the element before it, if there is one, sorts before it, not as its equal.
    pub begins: bool,
}

/// Sorts all elements of a tensor as one row, in ascending order.
pub(super) fn ascending((src, layout): Input<'_>) -> Vec<Sorted> {
    let n = layout.elem_count();
    let mut found = Vec::with_capacity(n);
    dispatch_dtype!(src.dtype(), T => {
        let elements = src.as_slice::<T>().expect("the dtype was dispatched on");
        find(layout.strided_index().map(|at| elements[at]), Sort::ascending(), &mut found);
    });
    sort_first(&mut found, n);
    let begins = |i: usize| i == 0 || found[i] >> 64 != found[i - 1] >> 64;
    (0..n).map(|i| Sorted { position: position(found[i]), begins: begins(i) }).collect()
}

/// The destination of the results.
struct Target<O>(*mut O);

// SAFETY: the pointer points into a destination that is borrowed exclusively and of which threads
// write disjoint rows.
unsafe impl<O: Send> Sync for Target<O> {}

impl<O> Target<O> {
    /// # Safety
    /// The element must lie in the buffer, and nothing else may access it meanwhile.
    unsafe fn write(&self, at: usize, value: O) {
        // SAFETY: the caller promises that the element lies in the buffer and that nothing else
        // accesses it meanwhile.
        unsafe { *self.0.add(at) = value };
    }
}

/// `sort` and `topk`.
pub(super) fn values(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let (from, to) = (src.1.stride().last().copied(), dl.stride().last().copied());
    let (from, to) = (from.unwrap_or(1), to.unwrap_or(1));
    dispatch_size!(dst.dtype(), B => {
        let elements: &[B] = bytemuck::cast_slice(src.0.as_bytes());
        let target = Target(bytemuck::cast_slice_mut::<u8, B>(dst.as_bytes_mut()).as_mut_ptr());
        each_row(src, dl, order(op), &|first, result, found| {
            for (i, &f) in found.iter().enumerate() {
                // SAFETY: the destination was validated to lie in its buffer and not to overlap
                // itself; each row has its own call.
                unsafe { target.write(result + i * to, elements[first + position(f) * from]) };
            }
        });
    });
}

/// `argsort` and `argtopk`.
pub(super) fn positions(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    match dst.dtype() {
        DType::I64 => positions_of(op, src, dst, dl, |position| position as i64),
        _ => positions_of(op, src, dst, dl, |position| position as u32),
    }
}

/// Writes positions as elements of a dtype. They fit, as the row was validated to have fewer than
/// 2^32 elements.
fn positions_of<O: WithDType>(
    op: &Op,
    src: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
    element: impl Fn(usize) -> O + Sync,
) {
    let to = dl.stride().last().copied().unwrap_or(1);
    let target = Target(dst.as_mut_slice::<O>().expect("the dtype was validated").as_mut_ptr());
    each_row(src, dl, order(op), &|_, result, found| {
        for (i, &f) in found.iter().enumerate() {
            // SAFETY: as above.
            unsafe { target.write(result + i * to, element(position(f))) };
        }
    });
}

fn order(op: &Op) -> Sort {
    match *op {
        Op::Sort(sort) | Op::ArgSort(sort) => sort,
        Op::TopK(top) | Op::ArgTopK(top) => top.sort(),
        _ => unreachable!("not an operation of the family"),
    }
}
