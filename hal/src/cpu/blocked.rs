//! What matrix products and convolutions share: blocks of results in the order of
//! `docs/numerics.md` section 9, k in segments of 256, an fma chain from zero in each, their
//! results added in order.
//!
//! Blocked as by Goto and van de Geijn (*Anatomy of High-Performance Matrix Multiplication*, 2008):
//! operands are packed, widened, into panels that the inner loop reads in order, and a tile of
//! results stays in registers for a whole segment, which is just the order that the contract asks
//! for.

use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::vector::{Kernel, vectorised};
use std::ops::Range;

/// The segment of k, and the depth of a panel.
const KC: usize = 256;
/// Rows and columns of results that a task computes: its panels and results fit the second-level
/// cache.
pub(super) const MC: usize = 192;
pub(super) const NC: usize = 256;
/// Rows of results in registers, unless there is one row alone.
const MR: usize = 6;

/// Products of packed panels of one segment, set to or added to a block of results.
pub(super) struct Segment<'a, C> {
    a: &'a [C],
    b: &'a [C],
    depth: usize,
    /// Row-major, `columns` wide, whole tiles.
    results: &'a mut [C],
    columns: usize,
    first: bool,
}

struct Tiles<'a, C, const ROWS: usize>(Segment<'a, C>);

/// A compute type with the width of its tiles: two AVX registers of columns, so that 6 rows of them
/// stay in the 16 there are.
pub(super) trait Tiled: FloatCompute {
    const NR: usize;
    fn segment(segment: Segment<'_, Self>, rows: usize);
}

/// The loop over tiles for a number of rows, each row an array of its own: one array of all rows
/// stays in memory instead of registers.
macro_rules! tiles {
    ($ty:ident $width:literal $rows:literal [$($row:ident $i:literal)*]) => {
        impl Kernel for Tiles<'_, $ty, $rows> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                let Segment { a, b, depth, results, columns, first } = self.0;
                for (jp, b) in b.chunks_exact(depth * $width).enumerate() {
                    for (ip, a) in a.chunks_exact(depth * $rows).enumerate() {
                        $(let mut $row = [0 as $ty; $width];)*
                        for (a, b) in a.as_chunks::<$rows>().0.iter().zip(b.as_chunks::<$width>().0) {
                            $($row.iter_mut().zip(b).for_each(|(sum, &b)| *sum = a[$i].fma(b, *sum));)*
                        }
                        for (i, sums) in [$($row),*].iter().enumerate() {
                            let row = &mut results[(ip * $rows + i) * columns + jp * $width..][..$width];
                            if first {
                                row.copy_from_slice(sums);
                            } else {
                                row.iter_mut().zip(sums).for_each(|(r, &s)| *r = r.add(s));
                            }
                        }
                    }
                }
            }
        }
    };
}

macro_rules! tiled {
    ($($ty:ident $width:literal)*) => {$(
        tiles! { $ty $width 1 [r0 0] }
        tiles! { $ty $width 6 [r0 0 r1 1 r2 2 r3 3 r4 4 r5 5] }

        impl Tiled for $ty {
            const NR: usize = $width;

            fn segment(segment: Segment<'_, Self>, rows: usize) {
                match rows {
                    1 => vectorised(Tiles::<$ty, 1>(segment)),
                    _ => vectorised(Tiles::<$ty, MR>(segment)),
                }
            }
        }
    )*};
}
tiled! { f32 16 f64 8 }

/// Room for one line of a block on its way: as it lies in memory, and widened.
pub(super) struct Line<T: Element> {
    elements: Vec<T>,
    widened: Vec<T::Compute>,
}

impl<T: Element> Line<T> {
    /// `len` elements, written by `fill`, widened.
    pub fn load(&mut self, len: usize, fill: impl FnOnce(&mut [T])) -> &[T::Compute] {
        let elements = &mut self.elements[..len];
        fill(elements);
        T::load(elements, &mut self.widened)
    }

    /// Values rounded.
    pub fn store(&mut self, values: &[T::Compute]) -> &[T] {
        let elements = &mut self.elements[..values.len()];
        T::store(elements, &mut self.widened, |out| out.copy_from_slice(values));
        elements
    }
}

/// A block of one operand, packed into panels of `width` lines (rows of the left, columns of the
/// right operand): for each k in order, the values of the panel's lines. Lines that are missing in
/// the last panel are 0.
pub(super) struct Panels<'a, C> {
    pub lines: usize,
    pub depth: usize,
    width: usize,
    values: &'a mut [C],
}

impl<'a, C: Compute> Panels<'a, C> {
    fn new(values: &'a mut [C], width: usize, lines: usize, depth: usize) -> Self {
        let values = &mut values[..lines.next_multiple_of(width) * depth];
        values[lines / width * width * depth..].fill(C::ZERO);
        Self { lines, depth, width, values }
    }

    /// The values of one line for all k.
    pub fn set_line(&mut self, line: usize, values: &[C]) {
        let panel = &mut self.values[line / self.width * self.width * self.depth..];
        for (group, &v) in panel.chunks_exact_mut(self.width).zip(values) {
            group[line % self.width] = v;
        }
    }

    /// The values of all lines for one k.
    pub fn set_k(&mut self, k: usize, values: &[C]) {
        let panels = self.values.chunks_exact_mut(self.width * self.depth);
        for (panel, values) in panels.zip(values.chunks(self.width)) {
            panel[k * self.width..][..values.len()].copy_from_slice(values);
        }
    }
}

/// What a thread reuses from block to block.
pub(super) struct Scratch<T: Element> {
    line: Line<T>,
    a: Vec<T::Compute>,
    b: Vec<T::Compute>,
    results: Vec<T::Compute>,
}

impl<T: Element<Compute: Tiled>> Scratch<T> {
    /// For blocks of products of these sizes.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        let zeros = |n| vec![T::Compute::ZERO; n];
        let (m, n, k) = (m.min(MC).next_multiple_of(MR), n.min(NC).next_multiple_of(T::Compute::NR), k.min(KC));
        let longest = m.max(n).max(k);
        Self {
            line: Line { elements: vec![T::zeroed(); longest], widened: zeros(longest) },
            a: zeros(m * k),
            b: zeros(n * k),
            results: zeros(m * n),
        }
    }

    /// Computes a block: `pack` is given ranges of k in ascending order and fills the panels of
    /// both operands, `store` is given each row of results, ready to be rounded.
    pub fn block(
        &mut self,
        [rows, columns, k]: [usize; 3],
        mut pack: impl FnMut(Range<usize>, &mut Line<T>, [Panels<'_, T::Compute>; 2]),
        mut store: impl FnMut(usize, &mut Line<T>, &[T::Compute]),
    ) {
        let (tall, wide) = (if rows == 1 { 1 } else { MR }, T::Compute::NR);
        let padded = columns.next_multiple_of(wide);
        let results = &mut self.results[..rows.next_multiple_of(tall) * padded];
        if k == 0 {
            results.fill(T::Compute::ZERO);
        }
        for start in (0..k).step_by(KC) {
            let depth = KC.min(k - start);
            let a = Panels::new(&mut self.a, tall, rows, depth);
            let b = Panels::new(&mut self.b, wide, columns, depth);
            pack(start..start + depth, &mut self.line, [a, b]);
            let (a, b) = (&self.a[..rows.next_multiple_of(tall) * depth], &self.b[..padded * depth]);
            T::Compute::segment(Segment { a, b, depth, results, columns: padded, first: start == 0 }, tall);
        }
        for (row, results) in results.chunks_exact(padded).take(rows).enumerate() {
            store(row, &mut self.line, &results[..columns]);
        }
    }
}

/// How many of `tasks` blocks a thread takes at a time: few enough that all threads have work,
/// enough to make scratch memory seldom.
pub(super) fn group(tasks: usize) -> usize {
    tasks.div_ceil(256)
}

/// The destination, of which tasks write disjoint elements.
pub(super) struct Destination<T>(pub *mut T);

// SAFETY: it is borrowed alone for the whole operation, was validated not to overlap itself, and
// every result belongs to one task.
unsafe impl<T: Send> Sync for Destination<T> {}
