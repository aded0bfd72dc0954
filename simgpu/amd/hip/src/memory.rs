//! Device memory: allocation, release, and pointer queries.

use crate::Code;
use crate::error::{Result, bail, call, put, put_if_wanted};
use crate::process::{Origin, Process, current_device, process, working};
use isobit_simgpu_core::memory::Kind;
use std::ffi::{c_int, c_uint, c_void};

/// Allocates device memory. For zero bytes the result is a null pointer, as HIP documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMalloc(to: *mut *mut c_void, bytes: usize) -> Code {
    call("hipMalloc", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the address is null");
        }
        let base = allocate(process()?, bytes, Kind::Device, 0)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, base as *mut c_void, "the address") }
    })
}

/// Allocates memory of a kind on the current device. For zero bytes nothing is allocated, and the
/// result is address 0.
pub(crate) fn allocate(process: &Process, bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    process.check(current_device())?;
    if bytes == 0 {
        process.machine.queues.refuse_in_capture()?;
        return Ok(0);
    }
    let base = process.machine.allocate(bytes, kind)?;
    process.note(base, flags, 0);
    Ok(base)
}

/// Frees memory of a kind after all work is done, as HIP documents, because pending work may use
/// it. Does nothing for a null pointer.
pub(crate) fn release(address: *mut c_void, kind: Kind) -> Result {
    if address.is_null() {
        return Ok(());
    }
    let process = process()?;
    let device = process.origins().get(&(address as u64)).map_or_else(current_device, |origin| origin.device);
    process.check(device)?;
    process.settle(device, process.machine.release(device, address as u64, kind))?;
    process.origins().remove(&(address as u64));
    Ok(())
}

/// Frees device memory.
#[unsafe(no_mangle)]
pub extern "C" fn hipFree(address: *mut c_void) -> Code {
    call("hipFree", || release(address, Kind::Device))
}

/// Writes the free and total bytes of device memory. All cards share the simulator's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> Code {
    call("hipMemGetInfo", || {
        let usage = working()?.machine.memory.usage();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(free, (usage.capacity - usage.in_use) as usize, "the free bytes")?;
            put(total, usage.capacity as usize, "the total bytes")
        }
    })
}

/// Writes the start and size of the allocation that contains an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetAddressRange(base: *mut *mut c_void, bytes: *mut usize, at: *mut c_void) -> Code {
    call("hipMemGetAddressRange", || {
        let found = process()?.machine.find(at as u64, Code::INVALID_VALUE)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(base, found.base as *mut c_void);
            put_if_wanted(bytes, found.bytes as usize);
        }
        Ok(())
    })
}

/// `hipPointerAttribute_t`, with the kinds of memory of HIP 6.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PointerAttributes {
    /// 0 for memory that HIP does not know, 1 for host memory, 2 for device memory.
    pub kind: c_int,
    /// The device on which it was allocated.
    pub device: c_int,
    /// The address for kernels.
    pub device_pointer: *mut c_void,
    /// The address for the host, null for device memory.
    pub host_pointer: *mut c_void,
    /// Whether it is managed memory, which is not supported.
    pub is_managed: c_int,
    /// The flags it was allocated with.
    pub flags: c_uint,
}

/// Writes the attributes of a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipPointerGetAttributes(to: *mut PointerAttributes, pointer: *const c_void) -> Code {
    call("hipPointerGetAttributes", || {
        if pointer.is_null() {
            bail!(INVALID_VALUE, "the pointer is null");
        }
        let process = process()?;
        let attributes = match process.machine.memory.find(pointer as u64) {
            Some(found) => {
                let pinned = found.kind == Kind::Pinned;
                let made = process.origins().get(&found.base).copied();
                let Origin { device, flags, .. } = made.unwrap_or(Origin { device: 0, flags: 0, priority: 0 });
                PointerAttributes {
                    kind: if pinned { 1 } else { 2 },
                    device: device as c_int,
                    device_pointer: pointer.cast_mut(),
                    host_pointer: if pinned { pointer.cast_mut() } else { std::ptr::null_mut() },
                    is_managed: 0,
                    flags,
                }
            }
            None => PointerAttributes {
                kind: 0,
                device: -2,
                device_pointer: std::ptr::null_mut(),
                host_pointer: std::ptr::null_mut(),
                is_managed: 0,
                flags: 0,
            },
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, attributes, "the attributes") }
    })
}
