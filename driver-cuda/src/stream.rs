//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::runtime::CudaRuntime;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::StreamRuntime;
use std::sync::Arc;

/// A stream of this crate's, which does not wait for the legacy default stream, or one of another
/// library's.
#[derive(Debug)]
pub struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// Whether it is destroyed with this.
    owned: bool,
}

// SAFETY: a stream may be used from any thread whose current context is its own, which every call
// sees to.
unsafe impl Send for CudaStream {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// The driver's handle, for interop; valid as long as the stream.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; pending work is finished by the driver.
            check(unsafe { sys::cuStreamDestroy_v2(self.raw) }, "destroying a stream")
        });
        self.context.deferred().keep(destroyed);
    }
}

impl StreamRuntime for CudaRuntime {
    type Stream = CudaStream;

    fn new_stream(&self) -> Result<CudaStream> {
        self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuStreamCreate(&mut raw, flags) }, "making a stream")?;
        Ok(CudaStream { context: self.context().clone(), raw, owned: true })
    }

    unsafe fn stream_from_raw(&self, raw: u64) -> Result<CudaStream> {
        Ok(CudaStream { context: self.context().clone(), raw: raw as sys::CUstream, owned: false })
    }

    fn raw_stream(&self, stream: &CudaStream) -> u64 {
        stream.raw() as u64
    }

    fn synchronize(&self, stream: &CudaStream) -> Result<()> {
        stream.context.bind()?;
        // SAFETY: the stream lives.
        check(unsafe { sys::cuStreamSynchronize(stream.raw) }, "waiting for the device")?;
        self.context().deferred().take()
    }

    fn stream_is_idle(&self, stream: &CudaStream) -> Result<bool> {
        stream.context.bind()?;
        // SAFETY: the stream lives.
        is_done(unsafe { sys::cuStreamQuery(stream.raw) }, "asking whether a stream's work is done")
    }
}
