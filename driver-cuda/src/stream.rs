//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::runtime::CudaRuntime;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::StreamRuntime;
use std::sync::Arc;

/// A stream created by this crate, which does not synchronise with the legacy default stream, or a
/// stream of another library.
#[derive(Debug)]
pub struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// Whether dropping this destroys the stream.
    owned: bool,
}

// SAFETY: a stream may be used from any thread that makes its context current, which every call
// does.
unsafe impl Send for CudaStream {}
// SAFETY: a stream may be used from any thread; the driver locks shared state.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// Returns the driver's handle, for interop. It is valid as long as the stream.
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
            // SAFETY: the stream was created in `new_stream` and is destroyed once; the driver
            // finishes pending work.
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
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cuStreamCreate(&mut raw, flags) }, "creating a stream")?;
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
        // SAFETY: the stream is alive.
        check(unsafe { sys::cuStreamSynchronize(stream.raw) }, "waiting for the device")?;
        self.context().deferred().take()
    }

    fn stream_is_idle(&self, stream: &CudaStream) -> Result<bool> {
        stream.context.bind()?;
        // SAFETY: the stream is alive.
        is_done(unsafe { sys::cuStreamQuery(stream.raw) }, "querying a stream")
    }
}
