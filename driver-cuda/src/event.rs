//! Events: points in a stream, with the time they were reached.

use crate::error::check;
use crate::library::DRIVER;
use crate::runtime::Context;
use crate::stream::CudaStream;
use cudarc::driver::sys;
use isobit_hal::{Error, ErrorKind, Result};
use std::sync::Arc;

/// An event that measures time.
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
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuEventCreate(&mut raw, flags) }, "making an event")?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(crate) fn record(&self, stream: &CudaStream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        check(unsafe { sys::cuEventRecord(self.raw, stream.raw()) }, "recording an event")
    }

    pub(crate) fn elapsed_since(&self, from: &CudaEvent) -> Result<f32> {
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        // CUDA 13's bindings name only the successor of this symbol, which drivers before 12.8 do not have.
        let elapsed: Elapsed = DRIVER
            .symbol("cuEventElapsedTime")
            .ok_or_else(|| Error::new(ErrorKind::LibraryUnavailable, "the NVIDIA driver lacks cuEventElapsedTime"))?;
        self.context.bind()?;
        let mut ms = 0.0;
        // SAFETY: both events live, and the type is the one that CUDA documents for the symbol.
        unsafe {
            check(sys::cuEventSynchronize(self.raw), "waiting for an event")?;
            check(elapsed(&mut ms, from.raw, self.raw), "reading the time between two events")?;
        }
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
