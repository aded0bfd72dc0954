//! Streams.

use crate::context::Context;
use crate::error::{check, is_done};
use crate::event::CudaEvent;
use cudarc::driver::sys;
use isobit_hal::Result;
use std::sync::Arc;

/// A stream of this crate's, which does not wait for the legacy default stream, or one of another library's.
#[derive(Debug)]
pub struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// Whether it is destroyed with this.
    owned: bool,
}

// SAFETY: a stream may be used from any thread whose current context is its own, which every call sees to.
unsafe impl Send for CudaStream {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: an out-parameter.
        check(unsafe { sys::cuStreamCreate(&mut raw, flags) }, "making a stream")?;
        Ok(Self { context: context.clone(), raw, owned: true })
    }

    /// # Safety
    /// As `GpuRuntime::stream_from_raw`.
    pub(crate) unsafe fn foreign(context: &Arc<Context>, raw: sys::CUstream) -> Self {
        Self { context: context.clone(), raw, owned: false }
    }

    /// The driver's handle, for those who must; valid as long as the stream.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the stream lives.
        check(unsafe { sys::cuStreamSynchronize(self.raw) }, "waiting for the device")
    }

    pub(crate) fn is_idle(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: the stream lives.
        is_done(unsafe { sys::cuStreamQuery(self.raw) }, "asking whether a stream's work is done")
    }

    /// The event may be of another device.
    pub(crate) fn wait_event(&self, event: &CudaEvent) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both live.
        check(unsafe { sys::cuStreamWaitEvent(self.raw, event.raw(), 0) }, "having a stream wait for an event")
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let destroyed = self.context.bind().and_then(|()| {
            // SAFETY: made in `new`, destroyed once; pending work is finished by the driver.
            check(unsafe { sys::cuStreamDestroy_v2(self.raw) }, "destroying a stream")
        });
        self.context.deferred().keep(destroyed);
    }
}
