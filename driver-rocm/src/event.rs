//! Events: points in a stream, some with the time they were reached.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::stream::RocmStream;
use hip_sys::{hipEvent_t, hipEventDefault, hipEventDisableTiming};
use isobit_hal::Result;
use std::ffi::c_uint;
use std::sync::Arc;

/// An event.
#[derive(Debug)]
pub struct RocmEvent {
    context: Arc<Context>,
    raw: hipEvent_t,
}

// SAFETY: an event may be used from any thread whose current device is its own, which every call sees to.
unsafe impl Send for RocmEvent {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for RocmEvent {}

impl RocmEvent {
    /// One that measures time.
    pub(crate) fn timed(context: &Arc<Context>) -> Result<Self> {
        Self::new(context, hipEventDefault)
    }

    /// One that orders work alone.
    pub(crate) fn ordering(context: &Arc<Context>) -> Result<Self> {
        Self::new(context, hipEventDisableTiming)
    }

    fn new(context: &Arc<Context>, flags: c_uint) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { (context.hip.hipEventCreateWithFlags)(&mut raw, flags) }, "making an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// The driver's handle, for those who must; valid as long as the event.
    pub fn raw(&self) -> hipEvent_t {
        self.raw
    }

    pub(crate) fn record(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        check(unsafe { (self.context.hip.hipEventRecord)(self.raw, stream.raw()) }, "recording an event")
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the event lives.
        check(unsafe { (self.context.hip.hipEventSynchronize)(self.raw) }, "waiting for an event")
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        let hip = self.context.hip;
        // SAFETY: the event lives.
        is_done(hip, unsafe { (hip.hipEventQuery)(self.raw) }, "asking whether an event's point is reached")
    }

    pub(crate) fn elapsed_since(&self, from: &RocmEvent) -> Result<f32> {
        self.synchronize()?;
        let mut ms = 0.0;
        // SAFETY: both events live; an out-parameter.
        let code = unsafe { (self.context.hip.hipEventElapsedTime)(&mut ms, from.raw, self.raw) };
        check(code, "reading the time between two events")?;
        Ok(ms)
    }
}

impl Drop for RocmEvent {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once.
            check(unsafe { (self.context.hip.hipEventDestroy)(self.raw) }, "destroying an event")
        });
        self.context.deferred().keep(destroyed);
    }
}
