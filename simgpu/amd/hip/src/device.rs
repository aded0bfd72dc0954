//! Devices: their number, the current one, names, and synchronization.

use crate::Code;
use crate::error::{bail, call, put, put_if_wanted, put_text};
use crate::process::{current_device, process, set_current_device};
use std::ffi::{c_char, c_int, c_uint};

/// Writes the number of cards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceCount(count: *mut c_int) -> Code {
    call("hipGetDeviceCount", || {
        let cards = process()?.cards.len();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(count, cards as c_int, "the number of devices") }
    })
}

/// Makes a card current for the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hipSetDevice(device: c_int) -> Code {
    call("hipSetDevice", || {
        set_current_device(process()?.device(device)?);
        Ok(())
    })
}

/// Writes the calling thread's current card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevice(device: *mut c_int) -> Code {
    call("hipGetDevice", || {
        process()?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(device, current_device() as c_int, "the device") }
    })
}

/// Writes the handle of a card, which is its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    call("hipDeviceGet", || {
        let found = process()?.device(ordinal)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(device, found as c_int, "the device") }
    })
}

/// Writes the name of a card, truncated to `len` bytes including its NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    call("hipDeviceGetName", || {
        let process = process()?;
        let card = process.cards[process.device(device)?].card;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put_text(name, len, card.name) }
    })
}

/// Writes the PCI address of a card, `domain:bus:device.function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) -> Code {
    call("hipDeviceGetPCIBusId", || {
        let device = process()?.device(device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put_text(id, len, &format!("0000:{:02x}:00.0", pci_bus(device))) }
    })
}

/// Returns the PCI bus of a card. Each simulated card has its own bus, so that no two have the same
/// address.
pub(crate) fn pci_bus(device: usize) -> i32 {
    device as i32 + 1
}

/// Writes the size of a card's memory in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceTotalMem(bytes: *mut usize, device: c_int) -> Code {
    call("hipDeviceTotalMem", || {
        let process = process()?;
        process.device(device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(bytes, process.machine.memory.usage().capacity as usize, "the size") }
    })
}

/// Writes the compute capability of a card: the major and minor number of its architecture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) -> Code {
    call("hipDeviceComputeCapability", || {
        let process = process()?;
        let card = process.cards[process.device(device)?].card;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(major, card.major, "the major number")?;
            put(minor, card.minor, "the minor number")
        }
    })
}

/// Waits for all work of the current card.
#[unsafe(no_mangle)]
pub extern "C" fn hipDeviceSynchronize() -> Code {
    call("hipDeviceSynchronize", || {
        let (process, device) = (process()?, current_device());
        process.settle(device, process.machine.queues.synchronize_device(device))
    })
}

/// Writes the range of stream priorities. Priorities have no effect here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> Code {
    call("hipDeviceGetStreamPriorityRange", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(least, LEAST_PRIORITY);
            put_if_wanted(greatest, GREATEST_PRIORITY);
        }
        Ok(())
    })
}

/// The lowest priority, as in AMD's runtime.
pub(crate) const LEAST_PRIORITY: c_int = 1;
pub(crate) const GREATEST_PRIORITY: c_int = -1;

/// Sets how threads wait for the device. This has no effect here.
#[unsafe(no_mangle)]
pub extern "C" fn hipSetDeviceFlags(flags: c_uint) -> Code {
    /// `hipDeviceScheduleMask`, `hipDeviceMapHost`, `hipDeviceLmemResizeToMax`.
    const KNOWN: c_uint = 0x7 | 0x8 | 0x16;
    call("hipSetDeviceFlags", || {
        if flags & !KNOWN != 0 {
            bail!(INVALID_VALUE, "unknown flags {flags:#x}");
        }
        process().map(drop)
    })
}
