//! Device memory: allocation and copies. The pool in `isobit-kernels` does the caching.

use crate::error::check;
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{hipMemcpyDeviceToDevice, hipMemcpyDeviceToHost, hipMemcpyHostToDevice};
use isobit_hal::Result;
use isobit_kernels::{DevicePtr, MemoryRuntime, StreamRuntime as _};
use std::ffi::c_void;

fn address(ptr: DevicePtr) -> *mut c_void {
    ptr.0 as *mut c_void
}

impl MemoryRuntime for RocmRuntime {
    fn memory(&self) -> Result<(u64, u64)> {
        self.context().bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the out-parameters are valid pointers.
        check(unsafe { (self.hip().hipMemGetInfo)(&mut free, &mut total) }, "querying the free memory")?;
        Ok((free as u64, total as u64))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        self.context().bind()?;
        let mut ptr = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (self.hip().hipMalloc)(&mut ptr, bytes) }, "allocating device memory")?;
        Ok(DevicePtr(ptr as u64))
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        let freed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that `alloc` returned `ptr`, that it is freed only
            // here, and that no work uses it.
            check(unsafe { (self.hip().hipFree)(address(ptr)) }, "freeing device memory")
        });
        self.context().deferred().keep(freed);
    }

    unsafe fn copy_to_device(&self, stream: &RocmStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
        self.context().bind()?;
        let (copy, kind) = (self.hip().hipMemcpyAsync, hipMemcpyHostToDevice);
        // SAFETY: the caller promises that `dst` has room. `src` is pageable, so HIP returns only
        // after reading it.
        let code = unsafe { copy(address(dst), src.as_ptr().cast(), src.len(), kind, stream.raw()) };
        check(code, "copying to the device")
    }

    unsafe fn copy_to_host(&self, stream: &RocmStream, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        self.context().bind()?;
        let (copy, kind) = (self.hip().hipMemcpyAsync, hipMemcpyDeviceToHost);
        // SAFETY: the caller promises that `src` holds enough bytes. `dst` stays valid until the
        // stream is synchronised below.
        let code = unsafe { copy(dst.as_mut_ptr().cast(), address(src), dst.len(), kind, stream.raw()) };
        check(code, "copying to the host")?;
        self.synchronize(stream)
    }

    unsafe fn copy_on_device(&self, stream: &RocmStream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        self.context().bind()?;
        let (copy, kind) = (self.hip().hipMemcpyAsync, hipMemcpyDeviceToDevice);
        // SAFETY: the caller promises that both ranges are allocated and do not overlap.
        check(unsafe { copy(address(dst), address(src), bytes, kind, stream.raw()) }, "copying on the device")
    }

    unsafe fn set_bytes(&self, stream: &RocmStream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that the range is allocated.
        let code = unsafe { (self.hip().hipMemsetD8Async)(address(dst), value, bytes, stream.raw()) };
        check(code, "setting device memory")
    }
}
