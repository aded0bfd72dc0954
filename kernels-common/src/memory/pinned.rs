//! Page-locked host memory, and asynchronous copies between it and a device.
//!
//! Pinned memory is a block like those on the device. Its record of uses orders copies on different
//! streams and devices and tells the host what to wait for, and a graph that copies from or to it
//! keeps it alive.

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

/// A type with the alignment of page-locked memory, for empty buffers.
#[repr(align(64))]
struct Aligned;

/// Page-locked memory of a driver.
#[derive(Debug)]
pub(crate) struct GpuPinned<R: GpuRuntime> {
    block: Arc<Block<R>>,
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is not bound to a thread, and the HAL's buffer gives access to its bytes by
// Rust's borrowing rules.
unsafe impl<R: GpuRuntime> Send for GpuPinned<R> {}
// SAFETY: shared references only read the bytes, by the same borrowing rules.
unsafe impl<R: GpuRuntime> Sync for GpuPinned<R> {}

impl<R: GpuRuntime> GpuPinned<R> {
    /// # Errors
    /// Returns `OutOfMemory` if the memory cannot be allocated.
    pub(crate) fn zeros(device: &GpuDevice<R>, len: usize) -> Result<Self> {
        let ptr = match len {
            0 => NonNull::<Aligned>::dangling().cast(),
            _ => device.runtime().alloc_pinned(len).on_device(device)?,
        };
        // SAFETY: the memory was just allocated with `len` bytes.
        unsafe { ptr.write_bytes(0, len) };
        // SAFETY: the memory was allocated by this device's runtime, or is empty, and belongs to
        // this block alone.
        let block = unsafe {
            let address = DevicePtr(ptr.as_ptr() as u64);
            Block::new(device.clone(), address, len, BlockOwner::Pinned, false, Uses::default())
        };
        Ok(Self { block: Arc::new(block), ptr, len })
    }

    /// Returns the address of the byte at an offset.
    ///
    /// # Safety
    /// The offset is not beyond the end.
    unsafe fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: the caller promises that the offset is not beyond the end.
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

/// Enqueues a copy in order with the work of all streams. The uses of pinned memory are recorded
/// even with a single stream, for the host and other devices.
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
/// The pinned memory contains the range, and the same number of bytes from `to` on lies in the
/// block.
///
/// # Errors
/// Returns the driver's error if the call fails.
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
        // SAFETY: the caller promises valid ranges. The host changes or frees the memory only
        // after waiting for its recorded uses.
        unsafe { device.runtime().copy_from_pinned(stream, to, pinned.at(range.start), range.len()) }
    })
}

/// # Safety
/// The pinned memory contains the range, and the same number of bytes from `from` on lies in the
/// block.
///
/// # Errors
/// Returns the driver's error if the call fails.
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
