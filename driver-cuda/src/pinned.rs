//! Page-locked host memory and asynchronous copies.

use crate::error::check;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys;
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{DevicePtr, PinnedRuntime};
use std::ptr::NonNull;

impl PinnedRuntime for CudaRuntime {
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        self.context().bind()?;
        let mut ptr = std::ptr::null_mut();
        // Page-locked for every device of the process, so that one buffer can serve several
        // devices.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cuMemHostAlloc(&mut ptr, bytes, flags) }, "allocating page-locked memory")?;
        NonNull::new(ptr.cast()).ok_or_else(|| {
            let message = format!("the NVIDIA driver returned no page-locked memory for a request of {bytes} bytes");
            Error::new(ErrorKind::OutOfMemory, message)
        })
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>) {
        let freed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that `alloc_pinned` returned `ptr`, that it is freed
            // only here, and that no copy uses it.
            check(unsafe { sys::cuMemFreeHost(ptr.as_ptr().cast()) }, "freeing page-locked memory")
        });
        self.context().deferred().keep(freed);
    }

    unsafe fn copy_from_pinned(
        &self,
        stream: &CudaStream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that both ranges are allocated, and that `src` does not
        // change until the copy is done.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(dst.0, src.as_ptr().cast(), bytes, stream.raw()) };
        check(code, "copying from page-locked memory")
    }

    unsafe fn copy_to_pinned(&self, stream: &CudaStream, dst: NonNull<u8>, src: DevicePtr, bytes: usize) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that both ranges are allocated, and that nothing accesses
        // `dst` until the copy is done.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(dst.as_ptr().cast(), src.0, bytes, stream.raw()) };
        check(code, "copying to page-locked memory")
    }
}
