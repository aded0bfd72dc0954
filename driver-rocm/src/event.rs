//! Events: points in a stream, with the time they were reached.

use crate::error::check;
use crate::runtime::Context;
use crate::stream::RocmStream;
use hip_sys::{hipEvent_t, hipEventDefault};
use isobit_hal::Result;
use std::sync::Arc;

/// An event that measures time.
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
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { (context.hip.hipEventCreateWithFlags)(&mut raw, hipEventDefault) }, "making an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(crate) fn record(&self, stream: &RocmStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        check(unsafe { (self.context.hip.hipEventRecord)(self.raw, stream.raw()) }, "recording an event")
    }

    pub(crate) fn elapsed_since(&self, from: &RocmEvent) -> Result<f32> {
        self.context.bind()?;
        let (hip, mut ms) = (self.context.hip, 0.0);
        // SAFETY: both events live; an out-parameter.
        unsafe {
            check((hip.hipEventSynchronize)(self.raw), "waiting for an event")?;
            check((hip.hipEventElapsedTime)(&mut ms, from.raw, self.raw), "reading the time between two events")?;
        }
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
