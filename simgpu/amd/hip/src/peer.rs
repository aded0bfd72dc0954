//! Access of cards to each other's memory. All cards share one arena here, so permissions are
//! recorded but have no effect.

use crate::Code;
use crate::error::{bail, call, put};
use crate::process::{current_device, process, working};
use std::ffi::{c_int, c_uint};

/// Whether a card can use the memory of another; this is true for every other card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceCanAccessPeer(to: *mut c_int, device: c_int, peer: c_int) -> Code {
    call("hipDeviceCanAccessPeer", || {
        let process = process()?;
        let others = process.device(device)? != process.device(peer)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, others.into(), "the answer") }
    })
}

/// Enables access of the current card to the memory of another.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> Code {
    call("hipDeviceEnablePeerAccess", || {
        let process = working()?;
        let (device, peer) = (current_device(), process.device(peer)?);
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        if device == peer {
            bail!(INVALID_DEVICE, "device {peer} is the current one");
        }
        if !process.peers.lock().insert((device, peer)) {
            bail!(PEER_ACCESS_ALREADY_ENABLED, "device {device} already has access to the memory of {peer}");
        }
        Ok(())
    })
}

/// Disables access of the current card to the memory of another.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceDisablePeerAccess(peer: c_int) -> Code {
    call("hipDeviceDisablePeerAccess", || {
        let process = working()?;
        let (device, peer) = (current_device(), process.device(peer)?);
        if !process.peers.lock().remove(&(device, peer)) {
            bail!(PEER_ACCESS_NOT_ENABLED, "device {device} has no access to the memory of {peer}");
        }
        Ok(())
    })
}

/// Writes the relation between two cards, by `hipDeviceP2PAttr`: performance rank 0, access and
/// atomics supported, arrays not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetP2PAttribute(to: *mut c_int, what: c_int, from: c_int, peer: c_int) -> Code {
    call("hipDeviceGetP2PAttribute", || {
        let process = process()?;
        if process.device(from)? == process.device(peer)? {
            bail!(INVALID_DEVICE, "{from} and {peer} are one device");
        }
        let value = match what {
            0 | 3 => 0,
            1 | 2 => 1,
            _ => bail!(INVALID_VALUE, "{what} is no attribute of two cards"),
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, value, "the value") }
    })
}
