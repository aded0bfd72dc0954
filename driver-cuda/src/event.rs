//! Events: points in a stream, some with the time at which they were reached.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::library::DRIVER;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys::{self, CUevent_flags as Flags};
use isobit_hal::{Error, ErrorKind, Result};
use isobit_kernels::EventRuntime;
use std::sync::Arc;

/// An event.
#[derive(Debug)]
pub struct CudaEvent {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: an event may be used from any thread that makes its context current, which every call
// does.
unsafe impl Send for CudaEvent {}
// SAFETY: an event may be used from any thread; the driver locks shared state.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    fn new(context: &Arc<Context>, flags: Flags) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the out-parameter is a valid pointer.
        check(unsafe { sys::cuEventCreate(&mut raw, flags as u32) }, "creating an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// Returns the driver's handle, for interop. It is valid as long as the event.
    pub fn raw(&self) -> sys::CUevent {
        self.raw
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: it was created in `new` and is destroyed once.
            check(unsafe { sys::cuEventDestroy_v2(self.raw) }, "destroying an event")
        });
        self.context.deferred().keep(destroyed);
    }
}

impl EventRuntime for CudaRuntime {
    type Event = CudaEvent;

    fn new_event(&self) -> Result<CudaEvent> {
        CudaEvent::new(self.context(), Flags::CU_EVENT_DEFAULT)
    }

    fn new_ordering_event(&self) -> Result<CudaEvent> {
        CudaEvent::new(self.context(), Flags::CU_EVENT_DISABLE_TIMING)
    }

    fn record(&self, event: &CudaEvent, stream: &CudaStream) -> Result<()> {
        event.context.bind()?;
        // SAFETY: both are alive.
        check(unsafe { sys::cuEventRecord(event.raw, stream.raw()) }, "recording an event")
    }

    fn wait_event(&self, stream: &CudaStream, event: &CudaEvent) -> Result<()> {
        // The stream's context: the event may belong to another device.
        stream.context().bind()?;
        // SAFETY: both are alive.
        check(unsafe { sys::cuStreamWaitEvent(stream.raw(), event.raw, 0) }, "making a stream wait for an event")
    }

    fn event_is_done(&self, event: &CudaEvent) -> Result<bool> {
        event.context.bind()?;
        // SAFETY: the event is alive.
        is_done(unsafe { sys::cuEventQuery(event.raw) }, "querying an event")
    }

    fn synchronize_event(&self, event: &CudaEvent) -> Result<()> {
        event.context.bind()?;
        // SAFETY: the event is alive.
        check(unsafe { sys::cuEventSynchronize(event.raw) }, "waiting for an event")
    }

    fn elapsed_ms(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f32> {
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        // CUDA 13's bindings only name the successor of this symbol, which drivers before 12.8 do
        // not have.
        let elapsed: Elapsed = DRIVER
            .symbol("cuEventElapsedTime")
            .ok_or_else(|| Error::new(ErrorKind::LibraryUnavailable, "the NVIDIA driver lacks cuEventElapsedTime"))?;
        self.synchronize_event(to)?;
        let mut ms = 0.0;
        // SAFETY: both events are alive, and the type is the one that CUDA documents for the
        // symbol.
        check(unsafe { elapsed(&mut ms, from.raw, to.raw) }, "reading the time between two events")?;
        Ok(ms)
    }
}
