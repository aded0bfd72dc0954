//! Streams.

use crate::error::check;
use crate::runtime::Context;
use hip_sys::{hipStream_t, hipStreamNonBlocking};
use isobit_hal::Result;
use std::sync::Arc;

/// A stream that does not wait for the legacy default stream.
#[derive(Debug)]
pub struct RocmStream {
    context: Arc<Context>,
    raw: hipStream_t,
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
        Ok(Self { context: context.clone(), raw })
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
}

impl Drop for RocmStream {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; pending work is finished by the driver.
            check(unsafe { (self.context.hip.hipStreamDestroy)(self.raw) }, "destroying a stream")
        });
        self.context.deferred().keep(destroyed);
    }
}
