//! The code that matrix products and convolutions share. It computes blocks of results in the order
//! of `docs/numerics.md` section 9: k is cut into segments of 256, each segment is an fma chain
//! that starts from zero, and the segments are added in order. For integers, which wrap, any order
//! gives the same bits.
//!
//! The blocking follows Goto and van de Geijn (*Anatomy of High-Performance Matrix Multiplication*,
//! 2008): operands are widened and packed into panels that the inner loop reads in order, and a
//! tile of results stays in registers for a whole segment. This is exactly the order that the
//! contract requires.

use super::compute::Compute;
use super::element::Element;
use super::vector::{Kernel, vectorised};
use std::ops::Range;

/// Length of a segment of k, and depth of a panel.
const KC: usize = 256;
/// Rows and columns of results per task, chosen so that panels and results fit the L2 cache.
pub(super) const MC: usize = 192;
pub(super) const NC: usize = 256;
/// Rows of results in registers, unless there is only one row.
pub(super) const MR: usize = 6;

/// The products of the packed panels of one segment. The first segment overwrites the block of
/// results, the others are added to it.
pub(super) struct Segment<'a, C> {
    a: &'a [C],
    b: &'a [C],
    depth: usize,
    /// Row-major, `columns` wide; a whole number of tiles.
    results: &'a mut [C],
    columns: usize,
    first: bool,
}

impl<'a, C> Segment<'a, C> {
    /// The products of one segment alone.
    pub fn only(a: &'a [C], b: &'a [C], depth: usize, results: &'a mut [C], columns: usize) -> Self {
        Self { a, b, depth, results, columns, first: true }
    }
}

struct Tiles<'a, C, const ROWS: usize>(Segment<'a, C>);

/// A compute type with the width of its tiles: two AVX registers of columns, so that 6 rows of them
/// fit into the 16 registers.
pub(super) trait Tiled: Compute {
    const NR: usize;
    fn segment(segment: Segment<'_, Self>, rows: usize);
}

/// The loop over tiles for a fixed number of rows. Each row is a separate array, because the
/// compiler would keep a single array of all rows in memory instead of registers.
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
                            $($row.iter_mut().zip(b).for_each(|(sum, &b)| *sum = a[$i].affine(b, *sum));)*
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
tiled! { f32 16 f64 8 u32 16 i32 16 i64 8 }

/// Buffers for one line of a block: the elements as stored, and the widened values.
pub(super) struct Line<T: Element> {
    elements: Vec<T>,
    widened: Vec<T::Compute>,
}

impl<T: Element> Line<T> {
    /// Widens `len` elements that `fill` writes.
    pub fn load(&mut self, len: usize, fill: impl FnOnce(&mut [T])) -> &[T::Compute] {
        let elements = &mut self.elements[..len];
        fill(elements);
        T::load(elements, &mut self.widened)
    }

    /// Returns the values rounded to elements.
    pub fn store(&mut self, values: &[T::Compute]) -> &[T] {
        let elements = &mut self.elements[..values.len()];
        T::store(elements, &mut self.widened, |out| out.copy_from_slice(values));
        elements
    }

    /// Returns the values plus a bias, rounded to elements.
    pub fn store_biased(&mut self, values: &[T::Compute], bias: T) -> &[T] {
        let elements = &mut self.elements[..values.len()];
        let bias = T::load(&[bias], &mut [T::Compute::ZERO])[0];
        T::store(elements, &mut self.widened, |out| {
            out.iter_mut().zip(values).for_each(|(out, &v)| *out = v.add(bias))
        });
        elements
    }
}

/// A block of one operand, packed into panels of `width` lines (rows of the left operand, columns
/// of the right one). A panel holds, for each k in order, the values of its lines. Missing lines of
/// the last panel are 0.
pub(super) struct Panels<'a, C> {
    pub lines: usize,
    pub depth: usize,
    width: usize,
    values: &'a mut [C],
}

impl<'a, C: Compute> Panels<'a, C> {
    /// Creates the panels of a block in `values`.
    pub fn new(values: &'a mut [C], width: usize, lines: usize, depth: usize) -> Self {
        let values = &mut values[..lines.next_multiple_of(width) * depth];
        values[lines / width * width * depth..].fill(C::ZERO);
        Self { lines, depth, width, values }
    }

    /// Sets the values of one line for all k.
    pub fn set_line(&mut self, line: usize, values: &[C]) {
        let panel = &mut self.values[line / self.width * self.width * self.depth..][..self.width * self.depth];
        let lane = line % self.width;
        // A fixed width needs neither a division nor a check in the loop.
        match self.width {
            1 => panel.copy_from_slice(values),
            MR => set_lane::<C, MR>(panel, lane, values),
            8 => set_lane::<C, 8>(panel, lane, values),
            16 => set_lane::<C, 16>(panel, lane, values),
            width => panel[lane..].iter_mut().step_by(width).zip(values).for_each(|(element, &v)| *element = v),
        }
    }

    /// Sets the values of all lines for one k.
    pub fn set_k(&mut self, k: usize, values: &[C]) {
        let panels = self.values.chunks_exact_mut(self.width * self.depth);
        for (panel, values) in panels.zip(values.chunks(self.width)) {
            panel[k * self.width..][..values.len()].copy_from_slice(values);
        }
    }
}

/// Sets one line of a panel of `WIDTH` lines.
fn set_lane<C: Copy, const WIDTH: usize>(panel: &mut [C], lane: usize, values: &[C]) {
    assert!(lane < WIDTH);
    for (group, &v) in panel.as_chunks_mut::<WIDTH>().0.iter_mut().zip(values) {
        group[lane] = v;
    }
}

/// Buffers that a thread reuses from block to block.
pub(super) struct Scratch<T: Element> {
    line: Line<T>,
    a: Vec<T::Compute>,
    b: Vec<T::Compute>,
    results: Vec<T::Compute>,
}

impl<T: Element<Compute: Tiled>> Scratch<T> {
    /// Allocates buffers for blocks of an `m` x `n` x `k` product.
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

    /// Returns the buffers for one line.
    pub fn line(&mut self) -> &mut Line<T> {
        &mut self.line
    }

    /// Computes a block. `pack` receives ranges of k in ascending order and fills the panels of
    /// both operands; `store` receives each row of results, not yet rounded.
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

/// How a block of results is computed.
pub(super) trait Method<T: Element> {
    /// Buffers that a thread reuses from block to block.
    type Scratch;

    /// Allocates buffers for blocks of an `m` x `n` x `k` product.
    fn scratch(&self, sides: [usize; 3]) -> Self::Scratch;

    /// Computes a block of rows and columns over k. `pack` fills panels of the operands over a
    /// range of k; `store` takes each row, not yet rounded.
    fn block(
        &self,
        scratch: &mut Self::Scratch,
        sides: [usize; 3],
        pack: impl FnMut(Range<usize>, &mut Line<T>, [Option<Panels<'_, T::Compute>>; 2]),
        store: impl FnMut(usize, &mut Line<T>, &[T::Compute]),
    );
}

/// Chains of fused multiply-adds.
pub(super) struct Chains;

impl<T: Element<Compute: Tiled>> Method<T> for Chains {
    type Scratch = Scratch<T>;

    fn scratch(&self, [m, n, k]: [usize; 3]) -> Scratch<T> {
        Scratch::new(m, n, k)
    }

    fn block(
        &self,
        scratch: &mut Scratch<T>,
        sides: [usize; 3],
        mut pack: impl FnMut(Range<usize>, &mut Line<T>, [Option<Panels<'_, T::Compute>>; 2]),
        store: impl FnMut(usize, &mut Line<T>, &[T::Compute]),
    ) {
        scratch.block(sides, |k, line, panels| pack(k, line, panels.map(Some)), store);
    }
}

/// Returns how many of `tasks` blocks a thread takes at a time: few enough that all threads have
/// work, and enough that scratch memory is rarely allocated.
pub(super) fn group(tasks: usize) -> usize {
    tasks.div_ceil(256)
}

/// The destination. Tasks write disjoint elements of it.
pub(super) struct Destination<T>(pub *mut T);

// SAFETY: it is borrowed exclusively for the whole operation, was validated not to overlap itself,
// and every result belongs to one task.
unsafe impl<T: Send> Sync for Destination<T> {}
