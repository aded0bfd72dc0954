//! The context in which everything on a device is created, and the list of devices.

use crate::error::check;
use crate::library::DRIVER;
use cudarc::driver::sys;
use isobit_hal::Result;
use isobit_kernels::{Deferred, PeerAccess, no_such_device};
use std::sync::Arc;

/// The primary context of a device, retained as long as anything created in it.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    deferred: Deferred,
    peers: PeerAccess,
}

// SAFETY: a context may be used from any thread that makes it current, which every call does first.
unsafe impl Send for Context {}
// SAFETY: a context may be used from any thread; the driver locks shared state.
unsafe impl Sync for Context {}

impl Context {
    pub(crate) fn new(ordinal: usize) -> Result<Arc<Self>> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(no_such_device("cuda", ordinal, count));
        }
        let (device, mut raw) = (device_of(ordinal)?, std::ptr::null_mut());
        // SAFETY: the out-parameter is a valid pointer; counting the devices initialised the
        // driver.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, device) }, "creating a context on the device")?;
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

    /// Returns the devices whose memory this one can access.
    pub(crate) fn peers(&self) -> &PeerAccess {
        &self.peers
    }

    /// Returns the errors of calls that cannot return one (frees, destructors), kept for the next
    /// synchronising call.
    pub(crate) fn deferred(&self) -> &Deferred {
        &self.deferred
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was retained once in `new`. Everything created in it holds a
        // reference to it, so nothing is left.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

pub(crate) fn device_count() -> Result<usize> {
    DRIVER.require()?;
    let mut count = 0;
    // SAFETY: repeated initialisation is allowed; `count` is a valid out-parameter.
    unsafe {
        check(sys::cuInit(0), "initialising the NVIDIA driver")?;
        check(sys::cuDeviceGetCount(&mut count), "counting NVIDIA GPUs")?;
    }
    Ok(count as usize)
}

/// Returns the driver's handle of a device that was counted.
pub(crate) fn device_of(ordinal: usize) -> Result<sys::CUdevice> {
    let mut device = 0;
    // SAFETY: the out-parameter is a valid pointer; counting the devices initialised the driver.
    check(unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) }, "finding the device")?;
    Ok(device)
}
