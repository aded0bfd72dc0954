//! Operands in the layout that kernels of rows of bytes need; copies operands in other layouts.

use crate::launch::index::{Dim, IndexDims};
use crate::ops::copy::{self, copy_walk};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Result};

/// Alignments in bytes: of elements that move 16 bytes at a time, and of other elements.
pub(in crate::ops) const VECTORS: u64 = 16;
pub(in crate::ops) const ANYWHERE: u64 = 1;

/// The elements of a layout as a contiguous array.
pub(in crate::ops) struct Dense<R: GpuRuntime> {
    pub(in crate::ops) ptr: DevicePtr,
    _copy: Option<GpuStorage<R>>,
}

impl<R: GpuRuntime> Dense<R> {
    /// Uses the elements in place if they are contiguous and aligned to `align` bytes; else copies
    /// them.
    pub(in crate::ops) fn new(storage: &GpuStorage<R>, layout: &Layout, align: u64) -> Result<Self> {
        let ptr = storage.ptr().at(storage.dtype(), layout.start_offset());
        if layout.elem_count() == 0 || (layout.is_contiguous() && ptr.0.is_multiple_of(align)) {
            return Ok(Self { ptr, _copy: None });
        }
        Self::copied(storage, layout)
    }

    fn copied(storage: &GpuStorage<R>, layout: &Layout) -> Result<Self> {
        let copy = copy::contiguous(storage, layout)?;
        Ok(Self { ptr: copy.ptr(), _copy: Some(copy) })
    }
}

/// Rows of blocks, each of them contiguous.
pub(in crate::ops) struct Rows<R: GpuRuntime> {
    pub(in crate::ops) ptr: DevicePtr,
    /// Bytes from one row to the next.
    pub(in crate::ops) row: usize,
    /// Bytes from one matrix to the next, if there are several.
    pub(in crate::ops) matrix: usize,
    _copy: Option<Dense<R>>,
}

impl<R: GpuRuntime> Rows<R> {
    /// Makes rows of one or more matrices of bytes, aligned to `align` bytes.
    pub(in crate::ops) fn new(storage: &GpuStorage<R>, layout: &Layout, align: u64) -> Result<Self> {
        let (dims, stride) = (layout.dims(), layout.stride());
        let last = dims.len() - 1;
        let outer = &stride[..last];
        let ptr = storage.ptr().at(DType::U8, layout.start_offset());
        let aligned = ptr.0.is_multiple_of(align) && outer.iter().all(|&s| (s as u64).is_multiple_of(align));
        if (stride[last] == 1 && aligned) || layout.elem_count() == 0 {
            return Ok(Self { ptr, row: outer[last - 1], matrix: outer[0], _copy: None });
        }
        let copy = Dense::copied(storage, layout)?;
        Ok(Self { ptr: copy.ptr, row: dims[last], matrix: dims[last] * dims[last - 1], _copy: Some(copy) })
    }
}

/// Runs `f` with a contiguous destination for the elements of a layout, aligned to `align` bytes,
/// and then copies the elements to their places in the layout if needed.
pub(in crate::ops) fn filled<R: GpuRuntime>(
    dst: &mut GpuStorage<R>,
    layout: &Layout,
    align: u64,
    f: impl FnOnce(DevicePtr) -> Result<()>,
) -> Result<()> {
    let to = dst.ptr().at(dst.dtype(), layout.start_offset());
    if layout.is_contiguous() && to.0.is_multiple_of(align) {
        return f(to);
    }
    let whole = dst.device().alloc(layout.elem_count(), dst.dtype())?;
    f(whole.ptr())?;
    // SAFETY: the layout was validated against its storage and names no element twice, and all of
    // `whole` is written earlier, in stream order.
    unsafe { copy_between(&whole, &Layout::contiguous(layout.shape()), to, layout) }
}

/// # Safety
/// Both layouts must have the same shape and be allocated; `to` is where the first element of
/// `to_layout` goes.
unsafe fn copy_between<R: GpuRuntime>(
    from: &GpuStorage<R>,
    from_layout: &Layout,
    to: DevicePtr,
    to_layout: &Layout,
) -> Result<()> {
    let strides = from_layout.stride().iter().zip(to_layout.stride());
    let dims: IndexDims<2> =
        from_layout.dims().iter().zip(strides).map(|(&size, (&s, &d))| Dim { size, stride: [s, d] }).collect();
    let ptr = from.ptr().at(from.dtype(), from_layout.start_offset());
    // SAFETY: the caller promises that both layouts have the same shape and are allocated; `to` is
    // where the first element of `to_layout` goes.
    unsafe { copy_walk(from.device(), from.dtype().size_in_bytes(), ptr, to, dims) }
}
