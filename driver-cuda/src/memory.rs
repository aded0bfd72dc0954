//! Device memory: allocation and copies. The pool in `isobit-kernels` does the caching.

use crate::error::check;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::{DevicePtr, MemoryRuntime, StreamRuntime as _};

impl MemoryRuntime for CudaRuntime {
    fn memory(&self) -> Result<(u64, u64)> {
        self.context().bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the out-parameters are valid pointers.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "querying the free memory")?;
        Ok((free as u64, total as u64))
    }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        self.context().bind()?;
        let mut ptr = 0;
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cuMemAlloc_v2(&mut ptr, bytes) }, "allocating device memory")?;
        Ok(DevicePtr(ptr))
    }

    unsafe fn free(&self, ptr: DevicePtr) {
        let freed = self.context().bind().and_then(|()| {
            // SAFETY: the caller promises that `alloc` returned `ptr`, that it is freed only
            // here, and that no work uses it.
            check(unsafe { sys::cuMemFree_v2(ptr.0) }, "freeing device memory")
        });
        self.context().deferred().keep(freed);
    }

    unsafe fn copy_to_device(&self, stream: &CudaStream, dst: DevicePtr, src: &[u8]) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that `dst` has room. `src` is pageable, so the driver
        // returns only after reading it.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(dst.0, src.as_ptr().cast(), src.len(), stream.raw()) };
        check(code, "copying to the device")
    }

    unsafe fn copy_to_host(&self, stream: &CudaStream, dst: &mut [u8], src: DevicePtr) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that `src` holds enough bytes. `dst` stays valid until the
        // stream is synchronised below.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(dst.as_mut_ptr().cast(), src.0, dst.len(), stream.raw()) };
        check(code, "copying to the host")?;
        self.synchronize(stream)
    }

    unsafe fn copy_on_device(&self, stream: &CudaStream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that both ranges are allocated and do not overlap.
        check(unsafe { sys::cuMemcpyDtoDAsync_v2(dst.0, src.0, bytes, stream.raw()) }, "copying on the device")
    }

    unsafe fn set_bytes(&self, stream: &CudaStream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()> {
        self.context().bind()?;
        // SAFETY: the caller promises that the range is allocated.
        check(unsafe { sys::cuMemsetD8Async(dst.0, value, bytes, stream.raw()) }, "setting device memory")
    }
}
