//! Device memory: allocation and copies. Caching is the pool's, in `isobit-kernels`.

use crate::context::Context;
use crate::error::check;
use crate::stream::CudaStream;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::DevicePtr;

pub(crate) fn free_and_total(context: &Context) -> Result<(u64, u64)> {
    context.bind()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: plain out-parameters.
    check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "asking for free memory")?;
    Ok((free as u64, total as u64))
}

pub(crate) fn alloc(context: &Context, bytes: usize) -> Result<DevicePtr> {
    context.bind()?;
    let mut ptr = 0;
    // SAFETY: an out-parameter.
    check(unsafe { sys::cuMemAlloc_v2(&mut ptr, bytes) }, "allocating device memory")?;
    Ok(DevicePtr(ptr))
}

/// # Safety
/// As `GpuRuntime::free`.
pub(crate) unsafe fn free(context: &Context, ptr: DevicePtr) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { sys::cuMemFree_v2(ptr.0) }, "freeing device memory")
}

/// # Safety
/// As `GpuRuntime::copy_to_device`.
pub(crate) unsafe fn copy_to_device(context: &Context, stream: &CudaStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise; `src` is pageable, and the driver returns only when it has been read.
    let code = unsafe { sys::cuMemcpyHtoDAsync_v2(dst.0, src.as_ptr().cast(), src.len(), stream.raw()) };
    check(code, "copying to the device")
}

/// Only enqueues: the caller synchronises before it looks at `dst`.
///
/// # Safety
/// As `GpuRuntime::copy_to_host`, and `dst` stays until the stream was synchronised.
pub(crate) unsafe fn copy_to_host(
    context: &Context,
    stream: &CudaStream,
    dst: &mut [u8],
    src: DevicePtr,
) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    let code = unsafe { sys::cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), src.0, dst.len(), stream.raw()) };
    check(code, "copying to the host")
}

/// # Safety
/// As `GpuRuntime::copy_on_device`.
pub(crate) unsafe fn copy_on_device(
    context: &Context,
    stream: &CudaStream,
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { sys::cuMemcpyDtoDAsync_v2(dst.0, src.0, bytes, stream.raw()) }, "copying on the device")
}

/// # Safety
/// As `GpuRuntime::set_bytes`.
pub(crate) unsafe fn set_bytes(
    context: &Context,
    stream: &CudaStream,
    dst: DevicePtr,
    value: u8,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { sys::cuMemsetD8Async(dst.0, value, bytes, stream.raw()) }, "setting device memory")
}
