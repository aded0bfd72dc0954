//! Events: points in a stream, some with the time they were reached.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::library::DRIVER;
use crate::stream::CudaStream;
use cudarc::driver::sys::{self, CUevent_flags as Flags};
use isobit_hal::{Error, ErrorKind, Result};
use std::sync::Arc;

/// An event.
#[derive(Debug)]
pub struct CudaEvent {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: an event may be used from any thread whose current context is its own, which every call sees to.
unsafe impl Send for CudaEvent {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// One that measures time.
    pub(crate) fn timed(context: &Arc<Context>) -> Result<Self> {
        Self::new(context, Flags::CU_EVENT_DEFAULT)
    }

    /// One that orders work alone.
    pub(crate) fn ordering(context: &Arc<Context>) -> Result<Self> {
        Self::new(context, Flags::CU_EVENT_DISABLE_TIMING)
    }

    fn new(context: &Arc<Context>, flags: Flags) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuEventCreate(&mut raw, flags as u32) }, "making an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    /// The driver's handle, for those who must; valid as long as the event.
    pub fn raw(&self) -> sys::CUevent {
        self.raw
    }

    pub(crate) fn record(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        check(unsafe { sys::cuEventRecord(self.raw, stream.raw()) }, "recording an event")
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the event lives.
        check(unsafe { sys::cuEventSynchronize(self.raw) }, "waiting for an event")
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: the event lives.
        is_done(unsafe { sys::cuEventQuery(self.raw) }, "asking whether an event's point is reached")
    }

    pub(crate) fn elapsed_since(&self, from: &CudaEvent) -> Result<f32> {
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        // CUDA 13's bindings name only the successor of this symbol, which drivers before 12.8 do not have.
        let elapsed: Elapsed = DRIVER
            .symbol("cuEventElapsedTime")
            .ok_or_else(|| Error::new(ErrorKind::LibraryUnavailable, "the NVIDIA driver lacks cuEventElapsedTime"))?;
        self.synchronize()?;
        let mut ms = 0.0;
        // SAFETY: both events live, and the type is the one that CUDA documents for the symbol.
        check(unsafe { elapsed(&mut ms, from.raw, self.raw) }, "reading the time between two events")?;
        Ok(ms)
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once.
            check(unsafe { sys::cuEventDestroy_v2(self.raw) }, "destroying an event")
        });
        self.context.deferred().keep(destroyed);
    }
}
