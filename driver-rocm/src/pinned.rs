//! Page-locked host memory, and copies that run beside the host.

use crate::context::Context;
use crate::error::check;
use crate::stream::RocmStream;
use hip_sys::{hipHostMallocPortable, hipMemcpyDeviceToHost, hipMemcpyHostToDevice};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::DevicePtr;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Page-locked for every device of the process, so that peers may be fed from one buffer.
pub(crate) fn alloc(context: &Context, bytes: usize) -> Result<NonNull<u8>> {
    context.bind()?;
    let mut ptr = std::ptr::null_mut();
    // SAFETY: an out-parameter.
    let code = unsafe { (context.hip.hipHostMalloc)(&mut ptr, bytes, hipHostMallocPortable) };
    check(code, "allocating page-locked memory")?;
    NonNull::new(ptr.cast()).ok_or_else(|| {
        let message = format!("HIP gave no page-locked memory where {bytes} bytes were asked for");
        Error::new(ErrorKind::OutOfMemory, message)
    })
}

/// # Safety
/// As `GpuRuntime::free_pinned`.
pub(crate) unsafe fn free(context: &Context, ptr: NonNull<u8>) -> Result<()> {
    context.bind()?;
    // SAFETY: the caller's promise.
    check(unsafe { (context.hip.hipHostFree)(ptr.as_ptr().cast()) }, "freeing page-locked memory")
}

/// # Safety
/// As `GpuRuntime::copy_from_pinned`.
pub(crate) unsafe fn copy_from(
    context: &Context,
    stream: &RocmStream,
    dst: DevicePtr,
    src: NonNull<u8>,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    let (copy, kind) = (context.hip.hipMemcpyAsync, hipMemcpyHostToDevice);
    // SAFETY: the caller's promise.
    let code = unsafe { copy(dst.0 as *mut c_void, src.as_ptr().cast(), bytes, kind, stream.raw()) };
    check(code, "copying from page-locked memory")
}

/// # Safety
/// As `GpuRuntime::copy_to_pinned`.
pub(crate) unsafe fn copy_to(
    context: &Context,
    stream: &RocmStream,
    dst: NonNull<u8>,
    src: DevicePtr,
    bytes: usize,
) -> Result<()> {
    context.bind()?;
    let (copy, kind) = (context.hip.hipMemcpyAsync, hipMemcpyDeviceToHost);
    // SAFETY: the caller's promise.
    let code = unsafe { copy(dst.as_ptr().cast(), src.0 as *const c_void, bytes, kind, stream.raw()) };
    check(code, "copying to page-locked memory")
}
