//! Page-locked host memory and asynchronous copies.

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
        // Page-locked for every device of the process, so that one buffer can serve several
        // devices.
        let flags = hipHostMallocPortable;
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (self.hip().hipHostMalloc)(&mut ptr, bytes, flags) }, "allocating page-locked memory")?;
        NonNull::new(ptr.cast()).ok_or_else(|| {
            let message = format!("HIP returned no page-locked memory for a request of {bytes} bytes");
            Error::new(ErrorKind::OutOfMemory, message)
        })
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>) {
        let freed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that `alloc_pinned` returned `ptr`, that it is freed
            // only here, and that no copy uses it.
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
        // SAFETY: the caller promises that both ranges are allocated, and that nothing accesses
        // `dst` until the copy is done.
        let code = unsafe { copy(dst.as_ptr().cast(), src.0 as *const c_void, bytes, kind, stream.raw()) };
        check(code, "copying to page-locked memory")
    }
}
