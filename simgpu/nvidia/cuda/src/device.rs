//! Devices: their number, names and locations.

use crate::Code;
use crate::error::{bail, call, put, put_text, text};
use crate::process::process;
use std::ffi::{c_char, c_int, c_uint};

/// Returns the number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuDeviceGetCount", || unsafe { put(count, process()?.cards.len() as c_int, "the number of devices") })
}

/// Returns the handle of a device, which is its ordinal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(to: *mut c_int, ordinal: c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuDeviceGet", || unsafe { put(to, process()?.device(ordinal)? as c_int, "the device") })
}

/// Returns the name of a device, truncated to `len` bytes including the NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    call("cuDeviceGetName", || {
        let process = process()?;
        let card = process.cards[process.device(device)?].card;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put_text(name, len, card.name) }
    })
}

/// `CUuuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Uuid(pub [u8; 16]);

/// Builds the UUID of a device from the simulator's name, the architecture and the ordinal.
fn uuid(to: *mut Uuid, device: c_int) -> crate::error::Result {
    let process = process()?;
    let device = process.device(device)?;
    let mut bytes = *b"isobit_sim_00\0\0\0";
    let (major, minor) = process.cards[device].card.arch.compute_capability();
    (bytes[11], bytes[12], bytes[15]) = (b'0' + major as u8, b'0' + minor as u8, device as u8);
    // SAFETY: the caller of CUDA promises room for it.
    unsafe { put(to, Uuid(bytes), "the identifier") }
}

/// Returns the UUID of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(to: *mut Uuid, device: c_int) -> Code {
    call("cuDeviceGetUuid", || uuid(to, device))
}

/// Like [`cuDeviceGetUuid`]: simulated devices are not partitioned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(to: *mut Uuid, device: c_int) -> Code {
    call("cuDeviceGetUuid_v2", || uuid(to, device))
}

/// Returns the bytes of a device's memory. All devices share the memory of the simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    call("cuDeviceTotalMem_v2", || {
        let process = process()?;
        process.device(device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(bytes, process.machine.memory.usage().capacity as usize, "the size") }
    })
}

/// Returns the compute capability of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) -> Code {
    call("cuDeviceComputeCapability", || {
        let process = process()?;
        let capability = process.cards[process.device(device)?].card.arch.compute_capability();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(major, capability.0 as c_int, "the major number")?;
            put(minor, capability.1 as c_int, "the minor number")
        }
    })
}

/// Returns the PCI bus of a device. Each simulated device has a bus of its own, so that their
/// locations differ.
pub(crate) fn pci_bus(device: usize) -> i32 {
    device as i32 + 1
}

/// Returns the PCI location of a device, `domain:bus:device.function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) -> Code {
    call("cuDeviceGetPCIBusId", || {
        let device = process()?.device(device)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put_text(id, len, &format!("0000:{:02X}:00.0", pci_bus(device))) }
    })
}

/// Returns the device at a PCI location: `domain:bus:device.function`; the domain and the function
/// are optional.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetByPCIBusId(to: *mut c_int, id: *const c_char) -> Code {
    call("cuDeviceGetByPCIBusId", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let id = unsafe { text(id, "the place") }?;
        let numbers: Option<Vec<_>> = id.split([':', '.']).map(|n| i32::from_str_radix(n, 16).ok()).collect();
        let bus = match numbers.as_deref() {
            Some([0, bus, 0] | [0, bus, 0, 0]) => *bus,
            Some([bus, 0]) => *bus,
            _ => bail!(INVALID_DEVICE, "there is no device at {id}"),
        };
        let device = process()?.device(bus - 1)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, device as c_int, "the device") }
    })
}

/// Whether a device can be partitioned (`CU_EXEC_AFFINITY_TYPE_SM_COUNT`); it cannot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetExecAffinitySupport(to: *mut c_int, kind: c_int, device: c_int) -> Code {
    call("cuDeviceGetExecAffinitySupport", || {
        process()?.device(device)?;
        if kind != 0 {
            bail!(INVALID_VALUE, "{kind} is not an affinity type");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, 0, "the answer") }
    })
}

/// Returns the locally unique identifier of a device, which exists on Windows only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetLuid(_luid: *mut c_char, _mask: *mut c_uint, device: c_int) -> Code {
    call("cuDeviceGetLuid", || {
        process()?.device(device)?;
        bail!(NOT_SUPPORTED, "such identifiers exist only on Windows")
    })
}
