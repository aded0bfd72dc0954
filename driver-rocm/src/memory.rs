//! Device memory: allocation and copies. Caching is the pool's, in `isobit-kernels`.

use crate::context::Context;
use crate::error::check;
use crate::stream::RocmStream;
use hip_sys::{hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice};
use isobit_hal::Result;
use isobit_kernels::DevicePtr;
use std::ffi::c_void;

fn address(ptr: DevicePtr) -> *mut c_void {
    ptr.0 as *mut c_void
}

pub(crate) fn free_and_total(context: &Context) -> Result<(u64, u64)> {
    context.bind()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: plain out-parameters.
    check(unsafe { (context.hip.hipMemGetInfo)(&mut free, &mut total) }, "asking for free memory")?;
    Ok((free as u64, total as u64))
}

pub(crate) fn alloc(context: &Context, bytes: usize) -> Result<DevicePtr> {
    context.bind()?;
    let mut ptr = std::ptr::null_mut();
    // SAFETY: an out-parameter.
    check(unsafe { (context.hip.hipMalloc)(&mut ptr, bytes) }, "allocating device memory")?;
    Ok(DevicePtr(ptr as u64))
}

/// # Safety
/// As `GpuRuntime::free`.
pub(crate) unsafe fn free(context: &Context, ptr: DevicePtr) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { (context.hip.hipFree)(address(ptr)) }, "freeing device memory")
}

/// # Safety
/// As `GpuRuntime::copy_to_device`.
pub(crate) unsafe fn copy_to_device(context: &Context, stream: &RocmStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
    context.bind()?;
    let (copy, kind) = (context.hip.hipMemcpyAsync, hipMemcpyHostToDevice);
    // SAFETY: the caller's promise; `src` is pageable, and HIP then returns only when it has been read.
    let code = unsafe { copy(address(dst), src.as_ptr().cast(), src.len(), kind, stream.raw()) };
    check(code, "copying to the device")
}

/// Only enqueues: the caller synchronises before it looks at `dst`.
///
/// # Safety
/// As `GpuRuntime::copy_to_host`, and `dst` stays until the stream was synchronised.
pub(crate) unsafe fn copy_to_host(
    context: &Context,
    stream: &RocmStream,
    dst: &mut [u8],
    src: DevicePtr,
) -> Result<()> {
    context.bind()?;
    let (copy, kind) = (context.hip.hipMemcpyAsync, hipMemcpyDeviceToHost);
    // SAFETY: the caller's promise.
    let code = unsafe { copy(dst.as_mut_ptr().cast(), address(src), dst.len(), kind, stream.raw()) };
    check(code, "copying to the host")
}

/// # Safety
/// As `GpuRuntime::copy_on_device`.
pub(crate) unsafe fn copy_on_device(
    context: &Context,
    stream: &RocmStream,
    dst: DevicePtr,
    src: DevicePtr,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    let (copy, kind) = (context.hip.hipMemcpyAsync, hipMemcpyDeviceToDevice);
    // SAFETY: the caller's promise.
    check(unsafe { copy(address(dst), address(src), bytes, kind, stream.raw()) }, "copying on the device")
}

/// # Safety
/// As `GpuRuntime::set_bytes`.
pub(crate) unsafe fn set_bytes(
    context: &Context,
    stream: &RocmStream,
    dst: DevicePtr,
    value: u8,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    let code = unsafe { (context.hip.hipMemsetD8Async)(address(dst), value, bytes, stream.raw()) };
    check(code, "setting device memory")
}
