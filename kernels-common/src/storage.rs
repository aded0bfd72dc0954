//! The storage half of the HAL, for any runtime: device memory with a dtype.

use crate::code::custom;
use crate::device::{GpuDevice, OnDevice};
use crate::memory::block::Block;
use crate::memory::pinned::GpuPinned;
use crate::memory::{peer, pinned};
use crate::ops;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::dependencies::{Access, Operands, Order, with};
use isobit_hal::trace::Call;
use isobit_hal::{
    BackendStorage, CpuStorage, DType, Func, KernelArg, LaunchConfig, Layout, Matmul, MatmulSide, Op, PinnedBuffer,
    Result, Shape, Src, validate,
};
use std::ops::Range;
use std::sync::Arc;

/// A buffer in device memory. Dropping it returns the memory to the device's pool.
///
/// ```
/// use isobit_hal::{BackendStorage, Result};
/// use isobit_kernels::{GpuRuntime, GpuStorage};
///
/// /// Reads the last element.
/// fn last<R: GpuRuntime>(x: &GpuStorage<R>) -> Result<f32> {
///     let mut bytes = [0; 4];
///     x.read_bytes(x.len() - 1, &mut bytes)?;
///     Ok(f32::from_ne_bytes(bytes))
/// }
/// ```
#[derive(Debug)]
pub struct GpuStorage<R: GpuRuntime> {
    block: Arc<Block<R>>,
    dtype: DType,
    len: usize,
}

impl<R: GpuRuntime> GpuStorage<R> {
    /// # Safety
    /// The block holds `len` elements and belongs to no other storage.
    pub(crate) unsafe fn from_block(block: Arc<Block<R>>, dtype: DType, len: usize) -> Self {
        Self { block, dtype, len }
    }

    /// Returns the device address of the first element, for interop. [`GpuDevice::enqueue`] orders
    /// work on it.
    pub fn ptr(&self) -> DevicePtr {
        self.block.ptr()
    }

    pub(crate) fn block(&self) -> &Arc<Block<R>> {
        &self.block
    }

    /// Runs an operation in order with the work of all streams.
    pub(crate) fn ordered(
        inputs: &[Src<'_, Self>],
        dst: &mut Self,
        operation: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let order = Order::before(dst.device(), || operands(inputs, dst))?;
        let done = operation(dst);
        // Also after a failure: part of the work may have been enqueued.
        let noted = order.after(dst.device(), || operands(inputs, dst));
        done.and_then(|()| noted.map(drop))
    }
}

fn operands<'a, R: GpuRuntime>(inputs: &[Src<'a, GpuStorage<R>>], dst: &'a GpuStorage<R>) -> Operands<'a, R> {
    let form = |src: &Src<'a, GpuStorage<R>>| match src {
        Src::Packed(packed) => packed.form(),
        Src::Storage(..) | Src::InPlace | Src::Scalar(_) => None,
    };
    let reads = inputs.iter().flat_map(|src| [src.storage().map(|(storage, _)| storage), form(src)]).flatten();
    reads.map(|storage| (&storage.block, Access::Read)).chain([(&dst.block, Access::Write)]).collect()
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
        self.block.device()
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        let mut host = CpuStorage::zeros(self.len, self.dtype)?;
        self.read_bytes(0, host.as_bytes_mut())?;
        Ok(host)
    }

    fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let range = validate::byte_range(self, offset, bytes.len())?;
        let device = self.device();
        device.refuse_in_capture(&device.stream(), "reading a storage")?;
        if !bytes.is_empty() {
            with(device, &[(&self.block, Access::Read)], |stream| {
                let from = self.ptr().at(self.dtype, range.start);
                // SAFETY: the range was validated against the buffer.
                unsafe { device.runtime().copy_to_host(stream, bytes, from) }
            })
            .on_device(device)?;
        }
        device.report_index_faults(&device.stream())
    }

    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let range = validate::byte_range(self, offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let device = self.device();
        device.refuse_in_capture(&device.stream(), "writing a storage from memory that is not pinned")?;
        with(device, &[(&self.block, Access::Write)], |stream| {
            let to = self.ptr().at(self.dtype, range.start);
            // SAFETY: the range was validated against the buffer.
            unsafe { device.runtime().copy_to_device(stream, to, bytes) }
        })
        .on_device(device)
    }

    fn copy_from_pinned(&mut self, offset: usize, src: &PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(src, &range)?;
        let elements = validate::byte_range(self, offset, range.len())?;
        match src.downcast_ref::<GpuPinned<R>>() {
            Some(pinned) => {
                let to = self.ptr().at(self.dtype, elements.start);
                // SAFETY: both ranges were validated.
                unsafe { pinned::copy_to_device(pinned, range, &self.block, to) }
            }
            None => self.write_bytes(offset, &src.bytes()?[range]),
        }
    }

    fn copy_to_pinned(&self, offset: usize, dst: &mut PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(dst, &range)?;
        let elements = validate::byte_range(self, offset, range.len())?;
        match dst.downcast_ref::<GpuPinned<R>>() {
            Some(pinned) => {
                let from = self.ptr().at(self.dtype, elements.start);
                // SAFETY: both ranges were validated.
                unsafe { pinned::copy_from_device(pinned, range, &self.block, from) }
            }
            None => self.read_bytes(offset, &mut dst.bytes_mut()?[range]),
        }
    }

    fn transfer_range_into(&self, range: Range<usize>, dst: &mut Self, offset: usize) -> Result<()> {
        validate::transfer_range(self, &range, dst, offset)?;
        peer::transfer(self, range, dst, offset)
    }

    fn device_ptr(&self) -> Result<u64> {
        Ok(self.ptr().0)
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _shown = dst.device().show(&Call { op, inputs, dst, dst_layout });
        validate::call(op, inputs, dst, dst_layout)?;
        Self::ordered(inputs, dst, |dst| ops::apply_into(op, inputs, dst, dst_layout).map_err(|e| e.with_op(op)))
    }

    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Self>> {
        ops::matmul::pack_matrix(self, shape, side, op)
    }

    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        // SAFETY: the caller upholds the contract of the method of the same name in `hal`.
        unsafe { custom::launch(func, config, args) }
    }
}
