//! Peer access between contexts. All devices share one arena here: peer permissions are recorded,
//! but not needed.

use crate::Code;
use crate::context::slot;
use crate::current::{Context, current};
use crate::error::{Result, bail, call, put};
use crate::process::process;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

/// Whether a device can access the memory of another device: always yes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(to: *mut c_int, device: c_int, peer: c_int) -> Code {
    call("cuDeviceCanAccessPeer", || {
        let process = process()?;
        let others = process.device(device)? != process.device(peer)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, others.into(), "the answer") }
    })
}

/// Returns a property of a pair of devices, by `CUdevice_P2PAttribute`: rank 0, access and atomics
/// supported, arrays not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetP2PAttribute(to: *mut c_int, what: c_int, from: c_int, peer: c_int) -> Code {
    call("cuDeviceGetP2PAttribute", || {
        let process = process()?;
        if process.device(from)? == process.device(peer)? {
            bail!(INVALID_DEVICE, "{from} and {peer} are one device");
        }
        let value = match what {
            1 | 4 => 0,
            2 | 3 => 1,
            _ => bail!(INVALID_VALUE, "{what} is no attribute of two cards"),
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}

/// Returns the current context and a peer context, which must be on another device.
fn pair(peer: Handle) -> Result<(Arc<Context>, Arc<Context>)> {
    let own = current()?;
    if peer.is_null() {
        bail!(INVALID_CONTEXT, "the context is null");
    }
    let peer = slot(process()?, peer)?.context()?;
    if own.device == peer.device {
        bail!(INVALID_DEVICE, "both contexts are on device {}", own.device);
    }
    Ok((own, peer))
}

/// Lets the current context access the memory of a context on another device.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) -> Code {
    call("cuCtxEnablePeerAccess", || {
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        let (own, peer) = pair(peer)?;
        if !process()?.peers.lock().insert((own.id, peer.id)) {
            bail!(PEER_ACCESS_ALREADY_ENABLED, "the context already has access to that memory");
        }
        Ok(())
    })
}

/// Revokes that access.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDisablePeerAccess(peer: Handle) -> Code {
    call("cuCtxDisablePeerAccess", || {
        let (own, peer) = pair(peer)?;
        if !process()?.peers.lock().remove(&(own.id, peer.id)) {
            bail!(PEER_ACCESS_NOT_ENABLED, "the context has no access to that memory");
        }
        Ok(())
    })
}
