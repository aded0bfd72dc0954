//! The device on which everything else is created, and the number of devices.

use crate::error::check;
use crate::library::HIP;
use hip_sys::Hip;
use isobit_hal::Result;
use isobit_kernels::{Deferred, PeerAccess, no_such_device};
use std::ffi::c_int;
use std::sync::Arc;

/// A device with HIP's functions, kept as long as anything created on it.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) hip: &'static Hip,
    device: c_int,
    deferred: Deferred,
    peers: PeerAccess,
}

impl Context {
    pub(crate) fn new(ordinal: usize) -> Result<Arc<Self>> {
        let count = device_count()?;
        let device = c_int::try_from(ordinal).ok().filter(|_| ordinal < count);
        let device = device.ok_or_else(|| no_such_device("rocm", ordinal, count))?;
        Ok(Arc::new(Self { hip: HIP.require()?, device, deferred: Deferred::default(), peers: PeerAccess::default() }))
    }

    /// Makes the device current for this thread.
    #[inline]
    pub(crate) fn bind(&self) -> Result<()> {
        // SAFETY: the device is one of those that were counted.
        check(unsafe { (self.hip.hipSetDevice)(self.device) }, "making the device current")
    }

    pub(crate) fn device(&self) -> c_int {
        self.device
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

pub(crate) fn device_count() -> Result<usize> {
    let hip = HIP.require()?;
    let mut count = 0;
    // SAFETY: the out-parameter is a valid pointer; the first call initialises the runtime.
    check(unsafe { (hip.hipGetDeviceCount)(&mut count) }, "counting AMD GPUs")?;
    Ok(count as usize)
}
