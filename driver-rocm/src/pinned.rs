//! Page-locked host memory, and copies that run beside the host.

use crate::error::check;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{hipHostMallocPortable, hipMemcpyDeviceToHost, hipMemcpyHostToDevice};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::{DevicePtr, PinnedRuntime};
use std::ffi::c_void;
use std::ptr::NonNull;

impl PinnedRuntime for RocmRuntime {
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        self.context().bind()?;
        let mut ptr = std::ptr::null_mut();
        // Page-locked for every device of the process, so that peers may be fed from one buffer.
        let flags = hipHostMallocPortable;
        // SAFETY: an out-parameter.
        check(unsafe { (self.hip().hipHostMalloc)(&mut ptr, bytes, flags) }, "allocating page-locked memory")?;
        NonNull::new(ptr.cast()).ok_or_else(|| {
            let message = format!("HIP gave no page-locked memory where {bytes} bytes were asked for");
            Error::new(ErrorKind::OutOfMemory, message)
        })
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>) {
        let freed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that `alloc_pinned` gave `ptr`, that this is its one
            // free, and that no copy uses it.
            check(unsafe { (self.hip().hipHostFree)(ptr.as_ptr().cast()) }, "freeing page-locked memory")
        });
        self.context().deferred().keep(freed);
    }

    unsafe fn copy_from_pinned(
        &self,
        stream: &RocmStream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()> {
        self.context().bind()?;
        let (copy, kind) = (self.hip().hipMemcpyAsync, hipMemcpyHostToDevice);
        // SAFETY: the caller promises that both ranges are allocated, and that `src` does not
        // change until the copy is done.
        let code = unsafe { copy(dst.0 as *mut c_void, src.as_ptr().cast(), bytes, kind, stream.raw()) };
        check(code, "copying from page-locked memory")
    }

    unsafe fn copy_to_pinned(&self, stream: &RocmStream, dst: NonNull<u8>, src: DevicePtr, bytes: usize) -> Result<()> {
        self.context().bind()?;
        let (copy, kind) = (self.hip().hipMemcpyAsync, hipMemcpyDeviceToHost);
        // SAFETY: the caller promises that both ranges are allocated, and that nothing touches
        // `dst` until the copy is done.
        let code = unsafe { copy(dst.as_ptr().cast(), src.0 as *const c_void, bytes, kind, stream.raw()) };
        check(code, "copying to page-locked memory")
    }
}
