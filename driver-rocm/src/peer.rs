//! Copies from one device to another without the host.

use crate::context::Context;
use crate::error::{check, forget};
use crate::memory;
use crate::stream::RocmStream;
use hip_sys::{hipErrorPeerAccessAlreadyEnabled, hipSuccess};
use isobit_hal::Result;
use isobit_kernels::DevicePtr;
use std::ffi::c_void;

/// Whether memory of `from` can be copied to `to` without the host.
pub(crate) fn can_access(to: &Context, from: &Context) -> bool {
    let mut can = 0;
    // SAFETY: an out-parameter; both devices are open.
    let asked = unsafe { (to.hip.hipDeviceCanAccessPeer)(&mut can, to.device(), from.device()) };
    if asked != hipSuccess {
        forget(to.hip);
    }
    to.device() == from.device() || asked == hipSuccess && can != 0
}

/// Lets the one device, which is current, reach the memory of the other, the first time.
fn allow(to: &Context, from: &Context) -> Result<()> {
    to.peers().allow_once(from.device(), || {
        // SAFETY: the other device is open.
        match unsafe { (to.hip.hipDeviceEnablePeerAccess)(from.device(), 0) } {
            hipErrorPeerAccessAlreadyEnabled => {
                forget(to.hip);
                Ok(())
            }
            code => check(code, "reaching another device's memory"),
        }
    })
}

/// # Safety
/// As `GpuRuntime::copy_from_peer`.
pub(crate) unsafe fn copy(
    to: &Context,
    stream: &RocmStream,
    dst: DevicePtr,
    from: &Context,
    src: DevicePtr,
    bytes: usize,
) -> Result<()> {
    if to.device() == from.device() {
        // SAFETY: the caller's promise.
        return unsafe { memory::copy_on_device(to, stream, dst, src, bytes) };
    }
    to.bind()?;
    allow(to, from)?;
    let (copy, dst, src) = (to.hip.hipMemcpyPeerAsync, dst.0 as *mut c_void, src.0 as *const c_void);
    // SAFETY: the caller's promise.
    let code = unsafe { copy(dst, to.device(), src, from.device(), bytes, stream.raw()) };
    check(code, "copying from another device")
}
