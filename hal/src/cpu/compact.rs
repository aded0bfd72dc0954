//! Results whose size depends on values: elements that are not 0, those that a mask selects, and
//! distinct ones. Each is written from its definition, in row-major order; what the destination has
//! beyond the last result is filled first.

use super::walk::dispatch_size;
use super::{CpuStorage, fill, indexing, sort};
use crate::{DType, Dims, Indexing, Layout, Op, Result, Scalar};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Returns the positions of the elements that are not 0, in row-major order.
fn nonzero_positions<'a>((src, layout): Input<'a>) -> Box<dyn Iterator<Item = usize> + 'a> {
    dispatch_dtype!(src.dtype(), T => {
        let elements = src.as_slice::<T>().expect("the dtype was dispatched on");
        let set = layout.strided_index().enumerate().filter(|&(_, at)| elements[at] != T::default());
        Box::new(set.map(|(position, _)| position))
    })
}

/// Returns the coordinates of the element at a position of the row-major order.
fn coordinates(layout: &Layout, strides: Dims, position: usize) -> impl Iterator<Item = usize> + '_ {
    layout.dims().iter().zip(strides).map(move |(&size, stride)| position / stride % size)
}

/// Returns the id that marks padding, of a dtype of positions.
fn padding(dtype: DType) -> Scalar {
    match dtype {
        DType::I64 => Scalar::I64(i64::MAX),
        _ => Scalar::U32(u32::MAX),
    }
}

/// Writes integers to the first elements of a destination, in row-major order. They fit the dtype,
/// as validation has bounded them.
fn write(integers: impl Iterator<Item = usize>, dst: &mut CpuStorage, dl: &Layout) {
    for (at, integer) in dl.strided_index().zip(integers) {
        match dst {
            CpuStorage::I64(elements) => elements[at] = integer as i64,
            CpuStorage::U32(elements) => elements[at] = integer as u32,
            _ => unreachable!("validated to be u32 or i64"),
        }
    }
}

/// Copies elements at offsets of the source to the first elements of a destination, in row-major
/// order.
fn take(src: &CpuStorage, offsets: impl Iterator<Item = usize>, dst: &mut CpuStorage, dl: &Layout) {
    dispatch_size!(dst.dtype(), B => {
        let from: &[B] = bytemuck::cast_slice(src.as_bytes());
        let to: &mut [B] = bytemuck::cast_slice_mut(dst.as_bytes_mut());
        dl.strided_index().zip(offsets).for_each(|(at, offset)| to[at] = from[offset]);
    });
}

/// `count_nonzero` and `nonzero`.
pub(super) fn nonzero(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    if let Op::CountNonzero = op {
        return write(std::iter::once(nonzero_positions(src).count()), dst, dl);
    }
    fill::fill(padding(dst.dtype()), dst, dl);
    if dl.elem_count() > 0 {
        let strides = src.1.shape().stride_contiguous();
        let rows = nonzero_positions(src).flat_map(|position| coordinates(src.1, strides.clone(), position));
        write(rows, dst, dl);
    }
}

pub(super) fn masked_select(src: Input<'_>, mask: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    fill::fill(Scalar::zero(dst.dtype()), dst, dl);
    let layout = src.1;
    let strides = layout.shape().stride_contiguous();
    let offset = |position| {
        let steps = coordinates(layout, strides.clone(), position).zip(layout.stride());
        layout.start_offset() + steps.map(|(i, stride)| i * stride).sum::<usize>()
    };
    take(src.0, nonzero_positions(mask).map(offset), dst, dl);
}

pub(super) fn compress(dim: usize, src: Input<'_>, mask: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    if dl.elem_count() == 0 {
        return Ok(());
    }
    let bound = dl.dims()[dim];
    let ids = nonzero_positions(mask).map(|position| position as i64).chain(std::iter::repeat(i64::MAX));
    let ids = CpuStorage::from(ids.take(bound).collect::<Vec<_>>());
    indexing::take(&Op::IndexSelect(Indexing::new(dim)), src, (&ids, &Layout::contiguous(bound)), dst, dl)
}

/// `count_unique`, `unique`, `unique_inverse`, `unique_counts` and `unique_first`.
pub(super) fn unique(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let order = sort::ascending(src);
    // The places in the order at which another value begins.
    let starts: Vec<usize> = (0..order.len()).filter(|&place| order[place].begins).collect();
    let firsts = || starts.iter().map(|&place| order[place].position);
    match op {
        Op::CountUnique => write(std::iter::once(starts.len()), dst, dl),
        Op::Unique { .. } => {
            fill::fill(Scalar::zero(dst.dtype()), dst, dl);
            let offsets: Vec<usize> = src.1.strided_index().collect();
            take(src.0, firsts().map(|position| offsets[position]), dst, dl);
        }
        Op::UniqueCounts { .. } => {
            fill::fill(Scalar::zero(dst.dtype()), dst, dl);
            let ends = starts.iter().copied().skip(1).chain([order.len()]);
            write(starts.iter().zip(ends).map(|(start, end)| end - start), dst, dl);
        }
        Op::UniqueFirst { .. } => {
            fill::fill(padding(dst.dtype()), dst, dl);
            write(firsts(), dst, dl);
        }
        _ => {
            let mut inverse = vec![0; order.len()];
            let mut values = 0;
            for sorted in &order {
                values += usize::from(sorted.begins);
                inverse[sorted.position] = values - 1;
            }
            write(inverse.into_iter(), dst, dl);
        }
    }
}
