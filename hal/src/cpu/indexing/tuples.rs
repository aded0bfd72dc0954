//! Tuples of ids: each becomes one position in the flattened dimensions that it indexes, and then
//! the operations with one id per slice apply.

use super::{Faults, Ids, Input, lines, places, take, take::Taken};
use crate::cpu::walk::dispatch_size;
use crate::cpu::{CpuStorage, copy};
use crate::{DType, Dims, Layout, Op, Result, ScatterOp, Src};

/// A position that marks padding.
const NOWHERE: i64 = i64::MAX;

/// Returns the position of each tuple in the flattened dimensions of a tensor: those that all
/// tuples share a part of, and those that they index.
fn positions(op: &Op, (ids, layout): Input<'_>, tensor: &[usize], batch_dims: usize, faults: &Faults) -> Vec<i64> {
    let last = layout.dims().len() - 1;
    let (shape, k) = (&layout.dims()[..last], layout.dims()[last]);
    let firsts = Layout::new(shape, &layout.stride()[..last], layout.start_offset()).expect("one stride per dimension");
    let of_ids = places(layout);
    let numbers = Layout::new(shape, &of_ids.stride()[..last], 0).expect("one stride per dimension");
    let reader = Ids::new(ids, layout.clone(), of_ids.clone(), op.has_negative_ids());
    let sizes = &tensor[batch_dims..batch_dims + k];
    let per_batch = shape[batch_dims..].iter().product::<usize>().max(1);
    let position = |(row, (first, number)): (usize, (usize, usize))| {
        let mut flat = row / per_batch;
        let mut is_somewhere = true;
        for (component, &size) in sizes.iter().enumerate() {
            // SAFETY: the offset is that of an element of the layout.
            let id = unsafe { reader.at(first - layout.start_offset() + component * layout.stride()[last]) };
            let place = || number + component * of_ids.stride()[last];
            match reader.position(id, size, faults, place) {
                Some(at) if is_somewhere => flat = flat * size + at,
                _ => is_somewhere = false,
            }
        }
        if is_somewhere { flat as i64 } else { NOWHERE }
    };
    firsts.strided_index().zip(numbers.strided_index()).enumerate().map(position).collect()
}

/// Returns the positions as ids of a shape, whose first dimensions are those of the tuples.
fn as_ids(positions: &CpuStorage, shape: &[usize], tuples: usize) -> Ids {
    let mut stride = Dims::from_elem(0, shape.len());
    stride[..tuples].copy_from_slice(Layout::contiguous(&shape[..tuples]).stride());
    let layout = Layout::new(shape, stride, 0).expect("one stride per dimension");
    // All of them are valid or padding, so that none is reported.
    Ids::new(positions, layout.clone(), layout, false)
}

/// Returns a tensor with the elements of another in row-major order.
fn contiguous((src, layout): Input<'_>) -> Result<CpuStorage> {
    let mut copy = CpuStorage::zeros(layout.elem_count(), src.dtype())?;
    copy::copy(Src::Storage(src, layout), &mut copy, &Layout::contiguous(layout.dims()));
    Ok(copy)
}

fn storage(positions: &[i64]) -> Result<CpuStorage> {
    CpuStorage::from_bytes(DType::I64, bytemuck::cast_slice(positions))
}

/// Returns a shape whose first dimensions are one.
fn flattened(shape: &[usize], first: usize) -> Dims {
    let mut flat = Dims::from_elem(shape[..first].iter().product(), 1);
    flat.extend_from_slice(&shape[first..]);
    flat
}

pub(super) fn gather(
    op: &Op,
    batch_dims: usize,
    src @ (stored, layout): Input<'_>,
    ids: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
    faults: &Faults,
) -> Result<()> {
    if dl.elem_count() == 0 {
        return Ok(());
    }
    let tuples = ids.1.dims().len() - 1;
    let positions = storage(&positions(op, ids, layout.dims(), batch_dims, faults))?;
    let flat = flattened(layout.dims(), batch_dims + ids.1.dims()[tuples]);
    let copied;
    let (stored, layout) = match layout.reshape(flat.clone()) {
        Ok(layout) => (stored, layout),
        Err(_) => {
            copied = contiguous(src)?;
            (&copied, Layout::contiguous(flat))
        }
    };
    let mut stride = Dims::from_elem(0, tuples);
    stride.extend_from_slice(&layout.stride()[1..]);
    let base = Layout::new(dl.dims(), stride, layout.start_offset())?;
    let taken = Taken { base, size: layout.dims()[0], step: layout.stride()[0] };
    let ids = as_ids(&positions, dl.dims(), tuples);
    dispatch_size!(dst.dtype(), T => take::take::<T>(stored, &taken, &ids, dst, dl, faults));
    Ok(())
}

pub(super) fn scatter(
    op: &Op,
    combine: ScatterOp,
    ids: Input<'_>,
    src: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
    faults: &Faults,
) -> Result<()> {
    if src.1.elem_count() == 0 {
        return Ok(());
    }
    let tuples = ids.1.dims().len() - 1;
    let depth = ids.1.dims()[tuples];
    let positions = storage(&positions(op, ids, dl.dims(), 0, faults))?;
    let from = contiguous(src)?;
    let from_layout = Layout::contiguous(flattened(src.1.dims(), tuples));
    let ids = as_ids(&positions, from_layout.dims(), 1);
    let to = flattened(dl.dims(), depth);
    let from = (&from, &from_layout);
    match dl.reshape(to.clone()) {
        Ok(layout) => lines::scatter(combine, 0, &ids, from, dst, &layout, faults),
        Err(_) => {
            let mut copied = contiguous((&*dst, dl))?;
            lines::scatter(combine, 0, &ids, from, &mut copied, &Layout::contiguous(to), faults);
            copy::copy(Src::Storage(&copied, &Layout::contiguous(dl.dims())), dst, dl);
        }
    }
    Ok(())
}
