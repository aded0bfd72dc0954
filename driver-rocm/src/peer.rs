//! Copies between devices without the host.

use crate::context::Context;
use crate::error::{check, forget};
use crate::runtime::RocmRuntime;
use crate::stream::RocmStream;
use hip_sys::{hipErrorPeerAccessAlreadyEnabled, hipSuccess};
use isobit_hal::Result;
use isobit_kernels::{DevicePtr, MemoryRuntime as _, PeerRuntime};
use std::ffi::c_void;

/// Gives one device, which is current, access to the memory of the other, once.
fn allow(to: &Context, from: &Context) -> Result<()> {
    to.peers().allow_once(from.device(), || {
        // SAFETY: the other device is open.
        match unsafe { (to.hip.hipDeviceEnablePeerAccess)(from.device(), 0) } {
            hipErrorPeerAccessAlreadyEnabled => {
                forget(to.hip);
                Ok(())
            }
            code => check(code, "enabling access to another device's memory"),
        }
    })
}

impl PeerRuntime for RocmRuntime {
    fn can_access_peer(&self, other: &Self) -> bool {
        let (to, from) = (self.context(), other.context());
        let mut can = 0;
        // SAFETY: the out-parameter is a valid pointer; both devices are open.
        let asked = unsafe { (to.hip.hipDeviceCanAccessPeer)(&mut can, to.device(), from.device()) };
        if asked != hipSuccess {
            forget(to.hip);
        }
        to.device() == from.device() || asked == hipSuccess && can != 0
    }

    unsafe fn copy_from_peer(
        &self,
        stream: &RocmStream,
        dst: DevicePtr,
        from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        let (to, from) = (self.context(), from.context());
        if to.device() == from.device() {
            // SAFETY: the caller promises valid ranges; all instances of a device share its
            // memory.
            return unsafe { self.copy_on_device(stream, dst, src, bytes) };
        }
        to.bind()?;
        allow(to, from)?;
        let (copy, dst, src) = (to.hip.hipMemcpyPeerAsync, dst.0 as *mut c_void, src.0 as *const c_void);
        // SAFETY: the caller promises that both ranges are allocated, `src` on `from`.
        let code = unsafe { copy(dst, to.device(), src, from.device(), bytes, stream.raw()) };
        check(code, "copying from another device")
    }
}
