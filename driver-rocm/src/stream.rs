//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::runtime::RocmRuntime;
use hip_sys::{hipStream_t, hipStreamNonBlocking};
use isobit_hal::Result;
use isobit_kernels::StreamRuntime;
use std::sync::Arc;

/// A stream created by this crate, which does not synchronise with the legacy default stream, or a
/// stream of another library.
#[derive(Debug)]
pub struct RocmStream {
    context: Arc<Context>,
    raw: hipStream_t,
    /// Whether dropping this destroys the stream.
    owned: bool,
}

// SAFETY: a stream may be used from any thread that makes its device current, which every call
// does.
unsafe impl Send for RocmStream {}
// SAFETY: a stream may be used from any thread; the driver locks shared state.
unsafe impl Sync for RocmStream {}

impl RocmStream {
    /// Returns the driver's handle, for interop. It is valid as long as the stream.
    pub fn raw(&self) -> hipStream_t {
        self.raw
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for RocmStream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: the stream was created in `new_stream` and is destroyed once; the driver
            // finishes pending work.
            check(unsafe { (self.context.hip.hipStreamDestroy)(self.raw) }, "destroying a stream")
        });
        self.context.deferred().keep(destroyed);
    }
}

impl StreamRuntime for RocmRuntime {
    type Stream = RocmStream;

    fn new_stream(&self) -> Result<RocmStream> {
        self.context().bind()?;
        let mut raw = std::ptr::null_mut();
        let flags = hipStreamNonBlocking;
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (self.hip().hipStreamCreateWithFlags)(&mut raw, flags) }, "creating a stream")?;
        Ok(RocmStream { context: self.context().clone(), raw, owned: true })
    }

    unsafe fn stream_from_raw(&self, raw: u64) -> Result<RocmStream> {
        Ok(RocmStream { context: self.context().clone(), raw: raw as hipStream_t, owned: false })
    }

    fn raw_stream(&self, stream: &RocmStream) -> u64 {
        stream.raw() as u64
    }

    fn synchronize(&self, stream: &RocmStream) -> Result<()> {
        stream.context.bind()?;
        // SAFETY: the stream is alive.
        check(unsafe { (self.hip().hipStreamSynchronize)(stream.raw) }, "waiting for the device")?;
        self.context().deferred().take()
    }

    fn stream_is_idle(&self, stream: &RocmStream) -> Result<bool> {
        stream.context.bind()?;
        let hip = self.hip();
        // SAFETY: the stream is alive.
        is_done(hip, unsafe { (hip.hipStreamQuery)(stream.raw) }, "querying a stream")
    }
}
