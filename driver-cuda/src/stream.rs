//! Streams.

use crate::error::check;
use crate::runtime::Context;
use cudarc::driver::sys;
use isobit_hal::Result;
use std::sync::Arc;

/// A stream that does not wait for the legacy default stream.
#[derive(Debug)]
pub struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
}

// SAFETY: a stream may be used from any thread whose current context is its own, which every call sees to.
unsafe impl Send for CudaStream {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuStreamCreate(&mut raw, flags) }, "making a stream")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// The driver's handle, for those who must; valid as long as the stream.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the stream lives.
        check(unsafe { sys::cuStreamSynchronize(self.raw) }, "waiting for the device")
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; pending work is finished by the driver.
            check(unsafe { sys::cuStreamDestroy_v2(self.raw) }, "destroying a stream")
        });
        self.context.deferred().keep(destroyed);
    }
}
