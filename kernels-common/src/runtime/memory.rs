//! Memory as a driver gives it: that of the device, page-locked memory of the host, and that of
//! other devices.

use crate::runtime::StreamRuntime;
use isobit_hal::{DType, Result};
use std::ptr::NonNull;

/// An address in device memory. Arithmetic is in bytes; 0 is the address of an empty buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `elements` further, for elements of a dtype.
    pub fn at(self, dtype: DType, elements: usize) -> Self {
        Self(self.0 + (elements * dtype.size_in_bytes()) as u64)
    }
}

/// Device memory: allocation, copies, fills.
pub trait MemoryRuntime: StreamRuntime {
    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// Those of the driver.
    fn memory(&self) -> Result<(u64, u64)>;

    /// Allocates device memory, aligned to at least 256 bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees device memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` came from [`alloc`](Self::alloc) of this runtime, is freed once, and no work that uses
    /// it is pending.
    unsafe fn free(&self, ptr: DevicePtr);

    /// Copies from the host; returns when `src` may change.
    ///
    /// # Safety
    /// `dst` has room for `src`.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_to_device(&self, stream: &Self::Stream, dst: DevicePtr, src: &[u8]) -> Result<()>;

    /// Copies to the host; returns when `dst` is filled.
    ///
    /// # Safety
    /// `src` holds as many bytes as `dst`.
    ///
    /// # Errors
    /// Those of the driver, and those of earlier work on the stream.
    unsafe fn copy_to_host(&self, stream: &Self::Stream, dst: &mut [u8], src: DevicePtr) -> Result<()>;

    /// Copies within the device, in stream order.
    ///
    /// # Safety
    /// Both ranges are allocated and do not overlap.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_on_device(&self, stream: &Self::Stream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()>;

    /// Sets bytes, in stream order.
    ///
    /// # Safety
    /// The range is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn set_bytes(&self, stream: &Self::Stream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()>;
}

/// Page-locked memory of the host, and copies that run beside the host.
pub trait PinnedRuntime: MemoryRuntime {
    /// Page-locked host memory, not initialised, aligned to at least 64 bytes. `bytes` is not 0.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Frees page-locked memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` came from [`alloc_pinned`](Self::alloc_pinned) of this runtime, is freed once, and no
    /// copy that uses it is pending.
    unsafe fn free_pinned(&self, ptr: NonNull<u8>);

    /// Enqueues a copy from page-locked memory.
    ///
    /// # Safety
    /// Both ranges are allocated, and `src` stays and does not change until the copy is done.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_from_pinned(
        &self,
        stream: &Self::Stream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()>;

    /// Enqueues a copy to page-locked memory.
    ///
    /// # Safety
    /// Both ranges are allocated, and nothing touches `dst` until the copy is done.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_to_pinned(
        &self,
        stream: &Self::Stream,
        dst: NonNull<u8>,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()>;
}

/// Copies from one device to another without the host. Optional: by default they go by way of the
/// host.
pub trait PeerRuntime: MemoryRuntime {
    /// Whether memory of the other device can be copied here without the host.
    fn can_access_peer(&self, _other: &Self) -> bool {
        false
    }

    /// Enqueues a copy from another device, for which [`can_access_peer`](Self::can_access_peer)
    /// holds, or within this one.
    ///
    /// # Safety
    /// Both ranges are allocated, `src` on `from`, and its content is there when the stream comes
    /// to the copy.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_from_peer(
        &self,
        stream: &Self::Stream,
        dst: DevicePtr,
        _from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller promises that both ranges are allocated; no other device can be
        // accessed, so both are on this one.
        unsafe { self.copy_on_device(stream, dst, src, bytes) }
    }
}
