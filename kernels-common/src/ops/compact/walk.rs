//! Walks in row-major order over tensors of any size and layout, as tile.cuh declares them.

use crate::launch::index::{Dim, IndexDims, push};
use crate::launch::sizes;
use crate::ops::copy;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{Layout, Result};

/// A tensor as a walk of at most [`MAX_RANK`](crate::launch::index::MAX_RANK) dimensions.
pub(super) struct Walked<R: GpuRuntime> {
    /// A contiguous copy of a tensor that has more dimensions than a walk.
    pub copy: Option<GpuStorage<R>>,
    /// The offset of the first element.
    pub start: usize,
    /// The step of each dimension, and its size.
    pub dims: IndexDims<2>,
}

/// Whether positions among `n` elements need 64 bits.
pub(super) fn is_wide(n: usize) -> bool {
    sizes::COMPACT_WIDE.is_reached(n)
}

/// Whether the elements of a walk can be read in packs of 16 bytes.
pub(super) fn packs(dims: &[Dim<2>], first: DevicePtr) -> bool {
    matches!(dims, [] | [Dim { stride: [1, _], .. }]) && first.0.is_multiple_of(16)
}

/// Returns the dimensions of a walk, merged as far as the layout allows.
pub(super) fn dims(layout: &Layout) -> IndexDims<2> {
    let mut merged = IndexDims::<1>::new();
    for (&size, &stride) in layout.dims().iter().zip(layout.stride()) {
        push(&mut merged, Dim { size, stride: [stride] });
    }
    merged.iter().map(|d| Dim { size: d.size, stride: [d.stride[0], d.size] }).collect()
}

/// Returns a walk over the elements of a tensor.
///
/// # Errors
/// `OutOfMemory`, and the errors of launches.
pub(super) fn walk<R: GpuRuntime>(src: &GpuStorage<R>, layout: &Layout) -> Result<Walked<R>> {
    let merged = dims(layout);
    if !sizes::WALK_RANK.is_exceeded(merged.len()) {
        return Ok(Walked { copy: None, start: layout.start_offset(), dims: merged });
    }
    let copy = copy::contiguous(src, layout)?;
    Ok(Walked { copy: Some(copy), start: 0, dims: dims(&Layout::contiguous(layout.shape())) })
}
