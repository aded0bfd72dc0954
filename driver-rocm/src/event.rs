//! Events: points in a stream, some with the time at which they were reached.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{hipEvent_t, hipEventDefault, hipEventDisableTiming};
use isobit_hal::Result;
use isobit_kernels::EventRuntime;
use std::ffi::c_uint;
use std::sync::Arc;

/// An event.
#[derive(Debug)]
pub struct RocmEvent {
    context: Arc<Context>,
    raw: hipEvent_t,
}

// SAFETY: an event may be used from any thread that makes its device current, which every call
// does.
unsafe impl Send for RocmEvent {}
// SAFETY: an event may be used from any thread; the driver locks shared state.
unsafe impl Sync for RocmEvent {}

impl RocmEvent {
    fn new(context: &Arc<Context>, flags: c_uint) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { (context.hip.hipEventCreateWithFlags)(&mut raw, flags) }, "creating an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// Returns the driver's handle, for interop. It is valid as long as the event.
    pub fn raw(&self) -> hipEvent_t {
        self.raw
    }
}

impl Drop for RocmEvent {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: it was created in `new` and is destroyed once.
            check(unsafe { (self.context.hip.hipEventDestroy)(self.raw) }, "destroying an event")
        });
        self.context.deferred().keep(destroyed);
    }
}

impl EventRuntime for RocmRuntime {
    type Event = RocmEvent;

    fn new_event(&self) -> Result<RocmEvent> {
        RocmEvent::new(self.context(), hipEventDefault)
    }

    fn new_ordering_event(&self) -> Result<RocmEvent> {
        RocmEvent::new(self.context(), hipEventDisableTiming)
    }

    fn record(&self, event: &RocmEvent, stream: &RocmStream) -> Result<()> {
        event.context.bind()?;
        // SAFETY: both are alive.
        check(unsafe { (self.hip().hipEventRecord)(event.raw, stream.raw()) }, "recording an event")
    }

    fn wait_event(&self, stream: &RocmStream, event: &RocmEvent) -> Result<()> {
        // The stream's device: the event may belong to another one.
        stream.context().bind()?;
        // SAFETY: both are alive.
        let code = unsafe { (self.hip().hipStreamWaitEvent)(stream.raw(), event.raw, 0) };
        check(code, "making a stream wait for an event")
    }

    fn event_is_done(&self, event: &RocmEvent) -> Result<bool> {
        event.context.bind()?;
        let hip = self.hip();
        // SAFETY: the event is alive.
        is_done(hip, unsafe { (hip.hipEventQuery)(event.raw) }, "querying an event")
    }

    fn synchronize_event(&self, event: &RocmEvent) -> Result<()> {
        event.context.bind()?;
        // SAFETY: the event is alive.
        check(unsafe { (self.hip().hipEventSynchronize)(event.raw) }, "waiting for an event")
    }

    fn elapsed_ms(&self, from: &RocmEvent, to: &RocmEvent) -> Result<f32> {
        self.synchronize_event(to)?;
        let mut ms = 0.0;
        // SAFETY: both events are alive; the out-parameter is a valid pointer.
        let code = unsafe { (self.hip().hipEventElapsedTime)(&mut ms, from.raw, to.raw) };
        check(code, "reading the time between two events")?;
        Ok(ms)
    }
}
