//! The context that everything of a device is made in, and the devices there are.

use crate::error::check;
use crate::library::DRIVER;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::{Deferred, PeerAccess, no_such_device};
use std::sync::Arc;

/// The primary context of a device, kept as long as anything made in it.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    deferred: Deferred,
    peers: PeerAccess,
}

// SAFETY: a context may be used from any thread that makes it current, which every call does first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks what is shared.
unsafe impl Sync for Context {}

impl Context {
    pub(crate) fn new(ordinal: usize) -> Result<Arc<Self>> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(no_such_device("cuda", ordinal, count));
        }
        let (device, mut raw) = (device_of(ordinal)?, std::ptr::null_mut());
        // SAFETY: an out-parameter; the driver was initialised while counting.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device) }, "making a context on the device")?;
        Ok(Arc::new(Self { device, raw, deferred: Deferred::default(), peers: PeerAccess::default() }))
    }

    /// Makes the context current for this thread.
    #[inline]
    pub(crate) fn bind(&self) -> Result<()> {
        // SAFETY: the context is retained as long as `self` lives.
        check(unsafe { sys::cuCtxSetCurrent(self.raw) }, "making the device current")
    }

    pub(crate) fn device(&self) -> sys::CUdevice {
        self.device
    }

    pub(crate) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Devices whose memory this one may reach.
    pub(crate) fn peers(&self) -> &PeerAccess {
        &self.peers
    }

    /// Errors of calls that cannot return one (frees, destructors), for the next synchronising
    /// call.
    pub(crate) fn deferred(&self) -> &Deferred {
        &self.deferred
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`; nothing made in the context is left, for all of it holds
        // the context.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

pub(crate) fn device_count() -> Result<usize> {
    DRIVER.require()?;
    let mut count = 0;
    // SAFETY: initialising twice is allowed; `count` is an out-parameter.
    unsafe {
        check(sys::cuInit(0), "initialising the NVIDIA driver")?;
        check(sys::cuDeviceGetCount(&mut count), "counting NVIDIA GPUs")?;
    }
    Ok(count as usize)
}

/// The driver's handle of a device that was counted.
pub(crate) fn device_of(ordinal: usize) -> Result<sys::CUdevice> {
    let mut device = 0;
    // SAFETY: an out-parameter; the driver was initialised while counting.
    check(unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) }, "finding the device")?;
    Ok(device)
}
