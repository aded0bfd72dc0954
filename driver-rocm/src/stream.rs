//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::runtime::RocmRuntime;
use hip_sys::{hipStream_t, hipStreamNonBlocking};
use isobit_hal::Result;
use isobit_kernels::StreamRuntime;
use std::sync::Arc;

/// A stream of this crate's, which does not wait for the legacy default stream, or one of another
/// library's.
#[derive(Debug)]
pub struct RocmStream {
    context: Arc<Context>,
    raw: hipStream_t,
    /// Whether it is destroyed with this.
    owned: bool,
}

// SAFETY: a stream may be used from any thread whose current device is its own, which every call
// sees to.
unsafe impl Send for RocmStream {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for RocmStream {}

impl RocmStream {
    /// The driver's handle, for interop; valid as long as the stream.
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
            // SAFETY: made in `new`, destroyed once; pending work is finished by the driver.
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
        // SAFETY: an out-parameter.
        check(unsafe { (self.hip().hipStreamCreateWithFlags)(&mut raw, flags) }, "making a stream")?;
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
        // SAFETY: the stream lives.
        check(unsafe { (self.hip().hipStreamSynchronize)(stream.raw) }, "waiting for the device")?;
        self.context().deferred().take()
    }

    fn stream_is_idle(&self, stream: &RocmStream) -> Result<bool> {
        stream.context.bind()?;
        let hip = self.hip();
        // SAFETY: the stream lives.
        is_done(hip, unsafe { (hip.hipStreamQuery)(stream.raw) }, "asking whether a stream's work is done")
    }
}
