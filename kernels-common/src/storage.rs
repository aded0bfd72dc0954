//! The storage half of the HAL over any runtime: device bytes and a dtype.

use crate::device::GpuDevice;
use crate::ops;
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{BackendStorage, CpuStorage, DType, Layout, Op, Result, Scalar, Src, validate};

/// A buffer in device memory; returned to the device's pool when dropped.
#[derive(Debug)]
pub struct GpuStorage<R: GpuRuntime> {
    device: GpuDevice<R>,
    ptr: DevicePtr,
    class: usize,
    dtype: DType,
    len: usize,
}

impl<R: GpuRuntime> GpuStorage<R> {
    /// # Safety
    /// `ptr` and `class` are a block of the device's pool that holds `len` elements and that nothing else owns.
    pub(crate) unsafe fn from_block(
        device: GpuDevice<R>,
        ptr: DevicePtr,
        class: usize,
        dtype: DType,
        len: usize,
    ) -> Self {
        Self { device, ptr, class, dtype, len }
    }

    /// The address of the first element, for those who must. Work on it belongs on the device's stream.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }
}

impl<R: GpuRuntime> Drop for GpuStorage<R> {
    fn drop(&mut self) {
        // SAFETY: the block came from this pool and the storage is its only owner.
        unsafe { self.device.pool().free(self.device.runtime(), self.ptr, self.class) };
    }
}

impl<R: GpuRuntime> BackendStorage for GpuStorage<R> {
    type Device = GpuDevice<R>;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.len
    }

    fn device(&self) -> &GpuDevice<R> {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        let mut host = CpuStorage::zeros(self.len, self.dtype)?;
        if self.len > 0 {
            // SAFETY: both buffers have as many bytes.
            unsafe { self.device.runtime().copy_to_host(self.device.stream(), host.as_bytes_mut(), self.ptr)? };
        }
        self.device.report_index_faults()?;
        Ok(host)
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        ops::fill::const_set(self, value, layout)
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::call(op, inputs, dst, dst_layout)?;
        ops::apply_into(op, inputs, dst, dst_layout).map_err(|e| e.with_op(op))
    }
}
