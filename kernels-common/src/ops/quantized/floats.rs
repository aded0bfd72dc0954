//! Activations and results of products with many rows, as f32.

use crate::ops::cast;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Result};

/// Activations as contiguous rows of f32: in place if they are, else a copy.
pub(super) struct Floats<'x, R: GpuRuntime> {
    storage: &'x GpuStorage<R>,
    copy: Option<GpuStorage<R>>,
    pub(super) layout: Layout,
}

impl<'x, R: GpuRuntime> Floats<'x, R> {
    pub(super) fn new(storage: &'x GpuStorage<R>, layout: &Layout, [m, k]: [usize; 2]) -> Result<Self> {
        if storage.dtype() == DType::F32 && layout.is_contiguous() {
            let layout = Layout::contiguous_with_offset([m, k], layout.start_offset());
            return Ok(Self { storage, copy: None, layout });
        }
        let mut copy = storage.device().alloc(m * k, DType::F32)?;
        cast::to_dtype_of(&mut copy, &Layout::contiguous(layout.shape()), storage, layout)?;
        Ok(Self { storage, copy: Some(copy), layout: Layout::contiguous([m, k]) })
    }

    pub(super) fn storage(&self) -> &GpuStorage<R> {
        self.copy.as_ref().unwrap_or(self.storage)
    }
}

/// Runs `f` with a destination of f32 for m rows of n results, contiguous, and then rounds the
/// results to their places if needed.
pub(super) fn filled<R: GpuRuntime>(
    dst: &mut GpuStorage<R>,
    layout: &Layout,
    [m, n]: [usize; 2],
    f: impl FnOnce(&mut GpuStorage<R>, &Layout) -> Result<()>,
) -> Result<()> {
    if dst.dtype() == DType::F32 && layout.is_contiguous() {
        return f(dst, &Layout::contiguous_with_offset([m, n], layout.start_offset()));
    }
    let mut wide = dst.device().alloc(m * n, DType::F32)?;
    f(&mut wide, &Layout::contiguous([m, n]))?;
    cast::to_dtype_of(dst, layout, &wide, &Layout::contiguous(layout.shape()))
}
