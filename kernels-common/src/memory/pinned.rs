//! Page-locked host memory, and the copies between it and a device that the host does not wait for.
//!
//! It is a block like those on the device, so that copies on different streams and devices are
//! ordered by its record of uses, the host waits for what that record says, and a graph that copies
//! from or to it keeps it.

use crate::device::{GpuDevice, OnDevice};
use crate::memory::block::{Block, BlockOwner};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use crate::stream::dependencies::{Access, Order, Uses};
use isobit_hal::Result;
use isobit_hal::pinned::PinnedMemory;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// As page-locked memory is aligned, for memory of no bytes.
#[repr(align(64))]
struct Aligned;

/// Page-locked memory of a driver's.
#[derive(Debug)]
pub(crate) struct GpuPinned<R: GpuRuntime> {
    block: Arc<Block<R>>,
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to no thread, and the HAL's buffer hands out its bytes by Rust's
// rules.
unsafe impl<R: GpuRuntime> Send for GpuPinned<R> {}
// SAFETY: as above.
unsafe impl<R: GpuRuntime> Sync for GpuPinned<R> {}

impl<R: GpuRuntime> GpuPinned<R> {
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn zeros(device: &GpuDevice<R>, len: usize) -> Result<Self> {
        let ptr = match len {
            0 => NonNull::<Aligned>::dangling().cast(),
            _ => device.runtime().alloc_pinned(len).on_device(device)?,
        };
        // SAFETY: there are as many bytes, and they are ours.
        unsafe { ptr.write_bytes(0, len) };
        // SAFETY: the memory came from this device's runtime, or has no bytes; it belongs to this
        // block alone.
        let block = unsafe {
            let address = DevicePtr(ptr.as_ptr() as u64);
            Block::new(device.clone(), address, len, BlockOwner::Pinned, false, Uses::default())
        };
        Ok(Self { block: Arc::new(block), ptr, len })
    }

    /// The byte at an offset.
    ///
    /// # Safety
    /// It is not beyond the end.
    unsafe fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: the caller promises that it is not beyond the end.
        unsafe { self.ptr.add(offset) }
    }
}

impl<R: GpuRuntime> PinnedMemory for GpuPinned<R> {
    fn as_ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    fn len(&self) -> usize {
        self.len
    }

    fn wait(&self, to_write: bool) -> Result<()> {
        self.block.wait_on_host(if to_write { Access::Write } else { Access::Read })
    }
}

/// Enqueues a copy in its place among the work of all streams; the record of the pinned memory's
/// uses is kept even where there is one stream, for the host and other devices.
fn copy<R: GpuRuntime>(
    [(pinned, pinned_access), (block, access)]: [(&Arc<Block<R>>, Access); 2],
    enqueue: impl FnOnce(&GpuDevice<R>, &GpuStream<R>) -> Result<()>,
) -> Result<()> {
    let device = block.device();
    let operands = || [(pinned, pinned_access), (block, access)].into_iter().collect();
    let order = Order::before(device, operands)?;
    let stream = device.stream();
    let captured = stream.is_capturing();
    if !captured {
        pinned.uses().wait(device, &stream, pinned_access)?;
    }
    let done = enqueue(device, &stream).on_device(device);
    let noted = order.after(device, operands);
    done?;
    let point = match noted? {
        Some(point) => point,
        None => device.mark(&stream)?,
    };
    if !captured {
        pinned.uses().note(device.runtime(), pinned_access, point);
    }
    Ok(())
}

/// # Safety
/// The pinned memory has the range, and as many bytes from `to` on lie in the block.
///
/// # Errors
/// Those of the driver.
pub(crate) unsafe fn copy_to_device<R: GpuRuntime>(
    pinned: &GpuPinned<R>,
    range: Range<usize>,
    block: &Arc<Block<R>>,
    to: DevicePtr,
) -> Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    copy([(&pinned.block, Access::Read), (block, Access::Write)], |device, stream| {
        // SAFETY: the caller promises valid ranges; the host changes and frees the memory only
        // after waiting for what is noted of it.
        unsafe { device.runtime().copy_from_pinned(stream, to, pinned.at(range.start), range.len()) }
    })
}

/// # Safety
/// The pinned memory has the range, and as many bytes from `from` on lie in the block.
///
/// # Errors
/// Those of the driver.
pub(crate) unsafe fn copy_from_device<R: GpuRuntime>(
    pinned: &GpuPinned<R>,
    range: Range<usize>,
    block: &Arc<Block<R>>,
    from: DevicePtr,
) -> Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    copy([(&pinned.block, Access::Write), (block, Access::Read)], |device, stream| {
        // SAFETY: as in `copy_to_device`.
        unsafe { device.runtime().copy_to_pinned(stream, pinned.at(range.start), from, range.len()) }
    })
}
