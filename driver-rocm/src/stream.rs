//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::event::RocmEvent;
use hip_sys::{hipStream_t, hipStreamNonBlocking};
use isobit_hal::Result;
use std::sync::Arc;

/// A stream of this crate's, which does not wait for the legacy default stream, or one of another library's.
#[derive(Debug)]
pub struct RocmStream {
    context: Arc<Context>,
    raw: hipStream_t,
    /// Whether it is destroyed with this.
    owned: bool,
}

// SAFETY: a stream may be used from any thread whose current device is its own, which every call sees to.
unsafe impl Send for RocmStream {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for RocmStream {}

impl RocmStream {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        let code = unsafe { (context.hip.hipStreamCreateWithFlags)(&mut raw, hipStreamNonBlocking) };
        check(code, "making a stream")?;
        Ok(Self { context: context.clone(), raw, owned: true })
    }

    /// # Safety
    /// As `GpuRuntime::stream_from_raw`.
    pub(crate) unsafe fn foreign(context: &Arc<Context>, raw: hipStream_t) -> Self {
        Self { context: context.clone(), raw, owned: false }
    }

    /// The driver's handle, for those who must; valid as long as the stream.
    pub fn raw(&self) -> hipStream_t {
        self.raw
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the stream lives.
        check(unsafe { (self.context.hip.hipStreamSynchronize)(self.raw) }, "waiting for the device")
    }

    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.context.bind()?;
        let hip = self.context.hip;
        // SAFETY: the stream lives.
        is_done(hip, unsafe { (hip.hipStreamQuery)(self.raw) }, "asking whether a stream's work is done")
    }

    /// The event may be of another device.
    pub(crate) fn wait_event(&self, event: &RocmEvent) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        let code = unsafe { (self.context.hip.hipStreamWaitEvent)(self.raw, event.raw(), 0) };
        check(code, "having a stream wait for an event")
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
