//! The portable matrix product, as `docs/numerics.md` section 9 defines it.

use super::CpuStorage;
use super::block_product::{Blocks, Segments};
use super::blocked::{Chains, Destination, Line, MC, Method, NC, Panels, Tiled, group};
use super::element::Element;
use super::walk::{dispatch_float_f32, dispatch_product, for_runs, gather, parallel, scatter};
use crate::{Layout, Matmul, Numerics};

/// A strided matrix of `lines` (rows of the left operand, columns of the right one) by k.
struct Operand<T> {
    base: *const T,
    line_stride: usize,
    k_stride: usize,
}

impl<T: Element<Compute: Tiled>> Operand<T> {
    /// Returns the matrix that starts at the given line and k.
    fn at(&self, offset: usize, line: usize, k: usize) -> Self {
        let base = self.base.wrapping_add(offset + line * self.line_stride + k * self.k_stride);
        Self { base, ..*self }
    }

    /// Packs a block of the matrix.
    ///
    /// # Safety
    /// The block must lie in a live buffer that is not written meanwhile.
    unsafe fn pack(&self, line: &mut Line<T>, mut panels: Panels<'_, T::Compute>) {
        // Read along the smaller stride, where neighbours share cache lines.
        let along_k = self.k_stride <= self.line_stride;
        let (outer, inner, outer_stride, inner_stride) = if along_k {
            (panels.lines, panels.depth, self.line_stride, self.k_stride)
        } else {
            (panels.depth, panels.lines, self.k_stride, self.line_stride)
        };
        for o in 0..outer {
            let base = self.base.wrapping_add(o * outer_stride);
            // SAFETY: the caller promises that the block lies in a live buffer that is not written
            // meanwhile.
            let values = line.load(inner, |out| unsafe { gather(base, &[inner], &[inner_stride], 0..inner, out) });
            if along_k {
                panels.set_line(o, values);
            } else {
                panels.set_k(o, values);
            }
        }
    }
}

/// Returns the offset of one matrix of the batch.
pub(super) fn batch_offset(layout: &Layout, batch: usize) -> usize {
    let outer = layout.dims().len() - 2;
    let mut offset = 0;
    for_runs(&layout.dims()[..outer], &layout.stride()[..outer], batch..batch + 1, |o, _| offset = o);
    layout.start_offset() + offset
}

fn product<T: Element<Compute: Tiled>, M: Method<T> + Sync>(
    method: &M,
    lhs: (&[T], &Layout),
    rhs: (&[T], &Layout),
    dst: (&mut [T], &Layout),
) {
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

    let task = |scratch: &mut M::Scratch, index: usize| {
        // Capture `destination` itself: the struct is `Sync`, its raw pointer alone is not.
        let destination = &destination;
        let (tiles_m, tiles_n) = (m.div_ceil(MC), n.div_ceil(NC));
        let (batch, i, j) = (index / (tiles_m * tiles_n), index / tiles_n % tiles_m * MC, index % tiles_n * NC);
        let (rows, columns) = (MC.min(m - i), NC.min(n - j));
        let left = Operand { base: lhs.0.as_ptr(), line_stride: stride(lhs.1, 2), k_stride: stride(lhs.1, 1) };
        let right = Operand { base: rhs.0.as_ptr(), line_stride: stride(rhs.1, 1), k_stride: stride(rhs.1, 2) };
        let [lhs_at, rhs_at, dst_at] = [lhs.1, rhs.1, dst_layout].map(|l| batch_offset(l, batch));
        method.block(
            scratch,
            [rows, columns, k],
            |k, line, panels| {
                let operands = [left.at(lhs_at, i, k.start), right.at(rhs_at, j, k.start)];
                for (operand, panels) in operands.iter().zip(panels) {
                    if let Some(panels) = panels {
                        // SAFETY: both layouts were validated to lie in their buffers, which are
                        // borrowed and not written; the blocks are parts of them.
                        unsafe { operand.pack(line, panels) };
                    }
                }
            },
            |row, line, results| {
                let offset = dst_at + (i + row) * stride(dst_layout, 2) + j * stride(dst_layout, 1);
                let base = destination.0.wrapping_add(offset);
                // SAFETY: the destination was validated to lie in its buffer; no other task writes
                // this row of this block.
                unsafe { scatter(line.store(results), base, &[columns], &[stride(dst_layout, 1)], 0..columns) };
            },
        );
    };
    let tasks = batches * m.div_ceil(MC) * n.div_ceil(NC);
    parallel(tasks, group(tasks), &|range| {
        let mut scratch = method.scratch([m, n, k]);
        range.for_each(|index| task(&mut scratch, index));
    });
}

pub(super) fn matmul(
    op: Matmul,
    lhs: (&CpuStorage, &Layout),
    rhs: (&CpuStorage, &Layout),
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    const DISPATCHED: &str = "operands were validated to have one dtype";
    let [lhs_layout, rhs_layout] = Matmul::broadcast(lhs.1, rhs.1).expect("validated to broadcast");
    let (lhs, rhs) = ((lhs.0, &lhs_layout), (rhs.0, &rhs_layout));
    macro_rules! by {
        ($method:expr, $T:ident) => {
            product::<$T, _>(
                $method,
                (lhs.0.as_slice().expect(DISPATCHED), lhs.1),
                (rhs.0.as_slice().expect(DISPATCHED), rhs.1),
                (dst.as_mut_slice().expect(DISPATCHED), dst_layout),
            )
        };
    }
    let digits = Matmul::block_digits(dst.dtype()).filter(|_| op.numerics == Some(Numerics::Block));
    match digits {
        Some(digits) => {
            let k = lhs.1.dims().last().copied().unwrap_or(0);
            let blocks = Blocks { bits: 8 * digits as u32, segments: Segments::of_product(k) };
            dispatch_float_f32!(dst.dtype(), T => by!(&blocks, T))
        }
        None => dispatch_product!(dst.dtype(), T => by!(&Chains, T)),
    }
}
