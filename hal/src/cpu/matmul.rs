//! The portable matrix product of `docs/numerics.md` section 9: k in segments of 256, an fma chain from zero in each, their results added in order.
//!
//! Blocked as by Goto and van de Geijn (*Anatomy of High-Performance Matrix Multiplication*, 2008): operands are packed, widened, into panels that the
//! inner loop reads in order, and a tile of results stays in registers for a whole segment, which is just the order that the contract asks for.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::vector::{Kernel, vectorised};
use super::walk::{dispatch_float, for_runs, gather, parallel, scatter};
use crate::{BackendStorage, Layout};

/// The segment of k, and the depth of a panel.
const KC: usize = 256;
/// Rows and columns of results that a task computes: its panels and results fit the second-level cache.
const MC: usize = 192;
const NC: usize = 256;
/// Rows of results in registers.
const MR: usize = 6;

/// Products of packed panels of one segment, set to or added to a block of results.
struct Segment<'a, C, const NR: usize> {
    a: &'a [C],
    b: &'a [C],
    depth: usize,
    /// Row-major, `columns` wide, whole tiles.
    results: &'a mut [C],
    columns: usize,
    first: bool,
}

impl<C: FloatCompute, const NR: usize> Kernel for Segment<'_, C, NR> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (jp, b) in self.b.chunks_exact(self.depth * NR).enumerate() {
            for (ip, a) in self.a.chunks_exact(self.depth * MR).enumerate() {
                let mut tile = [[C::ZERO; NR]; MR];
                for (a, b) in a.as_chunks::<MR>().0.iter().zip(b.as_chunks::<NR>().0) {
                    for (sums, &a) in tile.iter_mut().zip(a) {
                        for (sum, &b) in sums.iter_mut().zip(b) {
                            *sum = a.fma(b, *sum);
                        }
                    }
                }
                for (i, sums) in tile.iter().enumerate() {
                    let row = &mut self.results[(ip * MR + i) * self.columns + jp * NR..][..NR];
                    if self.first {
                        row.copy_from_slice(sums);
                    } else {
                        row.iter_mut().zip(sums).for_each(|(r, &s)| *r = r.add(s));
                    }
                }
            }
        }
    }
}

/// A compute type with the width of its tiles: two AVX registers of columns, so that 6 rows of them stay in the 16 there are.
trait Tiled: FloatCompute {
    const NR: usize;
    fn segment(a: &[Self], b: &[Self], depth: usize, results: &mut [Self], columns: usize, first: bool);
}

macro_rules! tiled {
    ($($ty:ident $width:literal)*) => {$(
        impl Tiled for $ty {
            const NR: usize = $width;

            fn segment(a: &[Self], b: &[Self], depth: usize, results: &mut [Self], columns: usize, first: bool) {
                vectorised(Segment::<$ty, $width> { a, b, depth, results, columns, first });
            }
        }
    )*};
}
tiled! { f32 16 f64 8 }

/// What a thread reuses from task to task.
struct Scratch<T: Element> {
    line: Vec<T>,
    widened: Vec<T::Compute>,
    a: Vec<T::Compute>,
    b: Vec<T::Compute>,
    results: Vec<T::Compute>,
}

impl<T: Element<Compute: Tiled>> Scratch<T> {
    fn new() -> Self {
        let zeros = |n| vec![T::Compute::ZERO; n];
        Self {
            line: vec![T::zeroed(); KC.max(MC).max(NC)],
            widened: zeros(KC.max(MC).max(NC)),
            a: zeros(MC * KC),
            b: zeros(NC * KC),
            results: zeros(MC * NC),
        }
    }
}

/// A strided matrix, `lines` (rows of the left, columns of the right operand) by k.
struct Operand<T> {
    base: *const T,
    line_stride: usize,
    k_stride: usize,
}

impl<T: Element> Operand<T> {
    /// The matrix from a line and a k onward.
    fn at(&self, offset: usize, line: usize, k: usize) -> Self {
        let base = self.base.wrapping_add(offset + line * self.line_stride + k * self.k_stride);
        Self { base, ..*self }
    }

    /// Widens a block of the matrix into panels of `width` lines: for each k in order, the values of the panel's lines. Lines that are missing in the last
    /// panel are 0.
    ///
    /// # Safety
    /// The block must lie in a live buffer that is not written meanwhile.
    unsafe fn pack(
        &self,
        width: usize,
        lines: usize,
        depth: usize,
        scratch: (&mut [T], &mut [T::Compute]),
        panels: &mut [T::Compute],
    ) {
        let whole = lines / width * width;
        if whole < lines {
            panels[whole * depth..].fill(T::Compute::ZERO);
        }
        // Along the smaller stride, where neighbours share cache lines.
        let along_k = self.k_stride <= self.line_stride;
        let (outer, inner, outer_stride, inner_stride) = if along_k {
            (lines, depth, self.line_stride, self.k_stride)
        } else {
            (depth, lines, self.k_stride, self.line_stride)
        };
        for o in 0..outer {
            let elements = &mut scratch.0[..inner];
            // SAFETY: the caller's promise.
            unsafe { gather(self.base.wrapping_add(o * outer_stride), &[inner], &[inner_stride], 0..inner, elements) };
            let values = T::load(elements, scratch.1);
            if along_k {
                let panel = &mut panels[o / width * width * depth..];
                for (group, &v) in panel.chunks_exact_mut(width).zip(values) {
                    group[o % width] = v;
                }
            } else {
                for (panel, values) in panels.chunks_exact_mut(width * depth).zip(values.chunks(width)) {
                    panel[o * width..][..values.len()].copy_from_slice(values);
                }
            }
        }
    }
}

/// The offset of a matrix of the batch.
fn batch_offset(layout: &Layout, batch: usize) -> usize {
    let outer = layout.dims().len() - 2;
    let mut offset = 0;
    for_runs(&layout.dims()[..outer], &layout.stride()[..outer], batch..batch + 1, |o, _| offset = o);
    layout.start_offset() + offset
}

/// The destination, of which tasks write disjoint elements.
struct Destination<T>(*mut T);

// SAFETY: it is borrowed alone for the whole product, was validated not to overlap itself, and every result belongs to one task.
unsafe impl<T: Send> Sync for Destination<T> {}

fn product<T: Element<Compute: Tiled>>(lhs: (&[T], &Layout), rhs: (&[T], &Layout), dst: (&mut [T], &Layout)) {
    let ([batch @ .., m, n], Some(&k)) = (dst.1.dims(), lhs.1.dims().last()) else {
        unreachable!("validated to have two dimensions at least");
    };
    let (m, n, batches) = (*m, *n, batch.iter().product::<usize>());
    if dst.1.elem_count() == 0 {
        return;
    }
    let destination = Destination(dst.0.as_mut_ptr());
    let dst_layout = dst.1;
    let stride = |layout: &Layout, from_last: usize| layout.stride()[layout.dims().len() - from_last];
    let width = T::Compute::NR;

    let task = |scratch: &mut Scratch<T>, index: usize| {
        // The whole of `destination`, not its pointer alone, is what may be shared.
        let destination = &destination;
        let (tiles_m, tiles_n) = (m.div_ceil(MC), n.div_ceil(NC));
        let (batch, i, j) = (index / (tiles_m * tiles_n), index / tiles_n % tiles_m * MC, index % tiles_n * NC);
        let (rows, columns) = (MC.min(m - i), NC.min(n - j));
        let padded = columns.next_multiple_of(width);
        let Scratch { line, widened, a, b, results } = scratch;
        let results = &mut results[..rows.next_multiple_of(MR) * padded];
        if k == 0 {
            results.fill(T::Compute::ZERO);
        }
        let (lhs_at, rhs_at) = (batch_offset(lhs.1, batch), batch_offset(rhs.1, batch));
        for start in (0..k).step_by(KC) {
            let depth = KC.min(k - start);
            let (a, b) = (&mut a[..rows.next_multiple_of(MR) * depth], &mut b[..padded * depth]);
            let left = Operand { base: lhs.0.as_ptr(), line_stride: stride(lhs.1, 2), k_stride: stride(lhs.1, 1) };
            let right = Operand { base: rhs.0.as_ptr(), line_stride: stride(rhs.1, 1), k_stride: stride(rhs.1, 2) };
            // SAFETY: both layouts were validated to lie in their buffers, which are borrowed and not written; the blocks are parts of them.
            unsafe {
                left.at(lhs_at, i, start).pack(MR, rows, depth, (line, widened), a);
                right.at(rhs_at, j, start).pack(width, columns, depth, (line, widened), b);
            }
            T::Compute::segment(a, b, depth, results, padded, start == 0);
        }
        let dst_at = batch_offset(dst_layout, batch);
        for (r, results) in results.chunks_exact(padded).take(rows).enumerate() {
            let rounded = &mut line[..columns];
            T::store(rounded, widened, |out| out.copy_from_slice(&results[..columns]));
            let base = destination.0.wrapping_add(dst_at + (i + r) * stride(dst_layout, 2) + j * stride(dst_layout, 1));
            // SAFETY: the destination was validated to lie in its buffer; no other task writes this row of this block.
            unsafe { scatter(rounded, base, &[columns], &[stride(dst_layout, 1)], 0..columns) };
        }
    };
    let tasks = batches * m.div_ceil(MC) * n.div_ceil(NC);
    parallel(tasks, 1, &|range| {
        let mut scratch = Scratch::new();
        range.for_each(|index| task(&mut scratch, index));
    });
}

pub(super) fn matmul(
    lhs: (&CpuStorage, &Layout),
    rhs: (&CpuStorage, &Layout),
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    const DISPATCHED: &str = "operands were validated to have one dtype";
    dispatch_float!(dst.dtype(), T => product::<T>(
        (lhs.0.as_slice().expect(DISPATCHED), lhs.1),
        (rhs.0.as_slice().expect(DISPATCHED), rhs.1),
        (dst.as_mut_slice().expect(DISPATCHED), dst_layout),
    ))
}
