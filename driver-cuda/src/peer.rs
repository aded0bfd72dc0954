//! Copies between devices without the host.

use crate::context::Context;
use crate::error::check;
use crate::runtime::CudaRuntime;
use crate::stream::CudaStream;
use cudarc::driver::sys::{self, CUresult};
use isobit_hal::Result;
use isobit_kernels::{DevicePtr, MemoryRuntime as _, PeerRuntime};

/// Gives one device access to the memory of the other, once.
fn allow(to: &Context, from: &Context) -> Result<()> {
    to.peers().allow_once(from.device(), || {
        // SAFETY: the other context is retained as long as `from` lives, and it stays the primary
        // context of its device.
        match unsafe { sys::cuCtxEnablePeerAccess(from.raw(), 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            code => check(code, "enabling access to another device's memory"),
        }
    })
}

impl PeerRuntime for CudaRuntime {
    fn can_access_peer(&self, other: &Self) -> bool {
        let (to, from) = (self.context(), other.context());
        let mut can = 0;
        // SAFETY: the out-parameter is a valid pointer; both devices are open.
        let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, to.device(), from.device()) };
        to.device() == from.device() || asked == CUresult::CUDA_SUCCESS && can != 0
    }

    unsafe fn copy_from_peer(
        &self,
        stream: &CudaStream,
        dst: DevicePtr,
        from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        let (to, from) = (self.context(), from.context());
        if to.device() == from.device() {
            // SAFETY: the caller promises valid ranges; all instances of a device share its
            // primary context.
            return unsafe { self.copy_on_device(stream, dst, src, bytes) };
        }
        to.bind()?;
        allow(to, from)?;
        // SAFETY: the caller promises that both ranges are allocated, `src` on `from`.
        let code = unsafe { sys::cuMemcpyPeerAsync(dst.0, to.raw(), src.0, from.raw(), bytes, stream.raw()) };
        check(code, "copying from another device")
    }
}
