//! The memory part of a driver: device memory, page-locked host memory, and the memory of peer
//! devices.

use crate::runtime::StreamRuntime;
use isobit_hal::{DType, Result};
use std::ptr::NonNull;

/// An address in device memory. Offsets are in bytes; an empty buffer has address 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// Returns the address `elements` elements of `dtype` after this one.
    ///
    /// ```
    /// use isobit_hal::DType;
    /// use isobit_kernels::DevicePtr;
    ///
    /// assert_eq!(DevicePtr(256).at(DType::F32, 3), DevicePtr(268));
    /// ```
    pub fn at(self, dtype: DType, elements: usize) -> Self {
        Self(self.0 + (elements * dtype.size_in_bytes()) as u64)
    }
}

/// Allocates, copies and fills device memory.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::GpuRuntime;
///
/// /// Copies bytes to the device and back.
/// fn round_trip<R: GpuRuntime>(runtime: &R, bytes: &[u8]) -> Result<Vec<u8>> {
///     let stream = runtime.new_stream()?;
///     let mut back = vec![0; bytes.len()];
///     let ptr = runtime.alloc(bytes.len())?;
///     // SAFETY: the allocation has room for `bytes`, and both copies are done when they return.
///     unsafe {
///         let copied = runtime
///             .copy_to_device(&stream, ptr, bytes)
///             .and_then(|()| runtime.copy_to_host(&stream, &mut back, ptr));
///         runtime.free(ptr);
///         copied.map(|()| back)
///     }
/// }
/// ```
pub trait MemoryRuntime: StreamRuntime {
    /// Returns the free and the total bytes of device memory.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    fn memory(&self) -> Result<(u64, u64)>;

    /// Allocates device memory, aligned to at least 256 bytes.
    ///
    /// # Errors
    /// Returns `OutOfMemory` if the memory cannot be allocated.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees device memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` was returned by [`alloc`](Self::alloc) of this runtime and is freed once, and no
    /// pending work uses it.
    unsafe fn free(&self, ptr: DevicePtr);

    /// Copies from the host. Returns when the caller may change `src`.
    ///
    /// # Safety
    /// At least `src.len()` bytes are allocated at `dst`.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn copy_to_device(&self, stream: &Self::Stream, dst: DevicePtr, src: &[u8]) -> Result<()>;

    /// Copies to the host. Returns when `dst` is filled.
    ///
    /// # Safety
    /// At least `dst.len()` bytes are allocated at `src`.
    ///
    /// # Errors
    /// Returns the driver's error if the copy or earlier work on the stream fails.
    unsafe fn copy_to_host(&self, stream: &Self::Stream, dst: &mut [u8], src: DevicePtr) -> Result<()>;

    /// Copies within the device, in stream order.
    ///
    /// # Safety
    /// Both ranges are allocated and do not overlap.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn copy_on_device(&self, stream: &Self::Stream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()>;

    /// Sets each of `bytes` bytes to `value`, in stream order.
    ///
    /// # Safety
    /// The range is allocated.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn set_bytes(&self, stream: &Self::Stream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()>;
}

/// Allocates page-locked host memory and copies to and from it asynchronously.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::{DevicePtr, GpuRuntime};
/// use std::ptr::NonNull;
///
/// /// Uploads page-locked memory while the host does other work.
/// ///
/// /// # Safety
/// /// `dst` and `src` have `bytes` bytes, and `work` does not write to `src`.
/// unsafe fn upload<R: GpuRuntime>(
///     runtime: &R,
///     stream: &R::Stream,
///     (dst, src, bytes): (DevicePtr, NonNull<u8>, usize),
///     work: impl FnOnce(),
/// ) -> Result<()> {
///     // SAFETY: the caller keeps both ranges allocated and `src` unchanged until the end.
///     unsafe { runtime.copy_from_pinned(stream, dst, src, bytes)? };
///     work();
///     runtime.synchronize(stream)
/// }
/// ```
pub trait PinnedRuntime: MemoryRuntime {
    /// Allocates uninitialised page-locked host memory, aligned to at least 64 bytes. `bytes` must
    /// not be 0.
    ///
    /// # Errors
    /// Returns `OutOfMemory` if the memory cannot be allocated.
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Frees page-locked memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` was returned by [`alloc_pinned`](Self::alloc_pinned) of this runtime and is freed
    /// once, and no pending copy uses it.
    unsafe fn free_pinned(&self, ptr: NonNull<u8>);

    /// Enqueues a copy from page-locked memory.
    ///
    /// # Safety
    /// Both ranges are allocated, and `src` stays allocated and unchanged until the copy is done.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
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
    /// Both ranges are allocated, and nothing accesses `dst` until the copy is done.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn copy_to_pinned(
        &self,
        stream: &Self::Stream,
        dst: NonNull<u8>,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()>;
}

/// Copies directly between devices, without the host. Optional: by default such copies are staged
/// through the host.
///
/// ```
/// use isobit_hal::Result;
/// use isobit_kernels::{DevicePtr, GpuRuntime};
///
/// /// Copies between two devices if they can access each other; returns whether they can.
/// ///
/// /// # Safety
/// /// Both ranges are allocated, and `src` holds its content when the stream reaches the copy.
/// unsafe fn copy_direct<R: GpuRuntime>(
///     (to, dst, stream): (&R, DevicePtr, &R::Stream),
///     (from, src): (&R, DevicePtr),
///     bytes: usize,
/// ) -> Result<bool> {
///     let direct = to.can_access_peer(from);
///     if direct {
///         // SAFETY: the caller upholds what this function requires.
///         unsafe { to.copy_from_peer(stream, dst, from, src, bytes)? };
///     }
///     Ok(direct)
/// }
/// ```
pub trait PeerRuntime: MemoryRuntime {
    /// Whether memory of the other device can be copied to this one without the host.
    fn can_access_peer(&self, _other: &Self) -> bool {
        false
    }

    /// Enqueues a copy within this device, or from another device for which
    /// [`can_access_peer`](Self::can_access_peer) returns true.
    ///
    /// # Safety
    /// Both ranges are allocated (`src` on the device `from`), and `src` holds its content when the
    /// stream reaches the copy.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    unsafe fn copy_from_peer(
        &self,
        stream: &Self::Stream,
        dst: DevicePtr,
        _from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller promises that both ranges are allocated. This driver cannot access
        // peers, so both are on this device.
        unsafe { self.copy_on_device(stream, dst, src, bytes) }
    }
}
