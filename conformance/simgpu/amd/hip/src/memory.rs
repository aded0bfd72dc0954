//! Device memory: allocation, release, questions about pointers.

use crate::Code;
use crate::error::{Error, Result, bail, call, put};
use crate::process::{Origin, Process, process};
use isobit_simgpu_core::memory::{Allocation, Kind};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// Allocates device memory. Zero bytes are a null pointer, as HIP documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMalloc(to: *mut *mut c_void, bytes: usize) -> Code {
    call("hipMalloc", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the address is null");
        }
        let base = allocate(process()?, bytes, Kind::Device, 0)?;
        // SAFETY: the caller's promise.
        unsafe { put(to, base as *mut c_void, "the address") }
    })
}

/// Allocates memory of a kind on the current device; no bytes are no allocation, address 0.
pub(crate) fn allocate(process: &Process, bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    process.queues.refuse_in_capture()?;
    if bytes == 0 {
        return Ok(0);
    }
    let base = process.memory.alloc(bytes, kind, if kind == Kind::Pinned { "host memory" } else { "" })?;
    process.note(base, flags, 0);
    Ok(base)
}

/// Frees memory of a kind, when all work is done, as HIP documents: what is pending may use it. A null pointer is no memory.
pub(crate) fn release(address: *mut c_void, kind: Kind) -> Result {
    if address.is_null() {
        return Ok(());
    }
    let process = process()?;
    process.queues.refuse_in_capture()?;
    match process.memory.find(address as u64) {
        Some(found) if found.base == address as u64 && found.kind == kind => {}
        Some(found) => bail!(INVALID_VALUE, "{address:p} is not the start of {kind:?} memory; it lies in {found}"),
        // Allocations of no bytes do not exist here, so that whatever is not found is stale or foreign.
        None => bail!(INVALID_VALUE, "no allocation starts at {address:p}"),
    }
    process.queues.drain();
    process.memory.free(address as u64).map_err(|error| Error::new(Code::INVALID_VALUE, error.to_string()))?;
    process.origins().remove(&(address as u64));
    Ok(())
}

/// Frees device memory.
#[unsafe(no_mangle)]
pub extern "C" fn hipFree(address: *mut c_void) -> Code {
    call("hipFree", || release(address, Kind::Device))
}

/// Free and total bytes of device memory. All cards share the memory of the simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> Code {
    call("hipMemGetInfo", || {
        let usage = process()?.memory.usage();
        // SAFETY: the caller's promise.
        unsafe {
            put(free, (usage.capacity - usage.in_use) as usize, "the free bytes")?;
            put(total, usage.capacity as usize, "the total bytes")
        }
    })
}

/// Start and size of the allocation that holds an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemGetAddressRange(base: *mut *mut c_void, bytes: *mut usize, at: *mut c_void) -> Code {
    call("hipMemGetAddressRange", || {
        let found = find(process()?, at)?;
        if !base.is_null() {
            // SAFETY: not null, and the caller's promise.
            unsafe { put(base, found.base as *mut c_void, "the start") }?;
        }
        if !bytes.is_null() {
            // SAFETY: as above.
            unsafe { put(bytes, found.bytes as usize, "the size") }?;
        }
        Ok(())
    })
}

/// The live allocation that holds an address.
pub(crate) fn find(process: &Process, at: *const c_void) -> Result<Arc<Allocation>> {
    let found = process.memory.find(at as u64);
    found.ok_or_else(|| Error::new(Code::INVALID_VALUE, format!("no allocation holds {at:p}")))
}

/// `hipPointerAttribute_t`, whose kinds of memory are those of HIP 6.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PointerAttributes {
    /// 0 memory that HIP does not know, 1 of the host, 2 of a device.
    pub kind: c_int,
    /// The device where it was allocated.
    pub device: c_int,
    /// The address for kernels.
    pub device_pointer: *mut c_void,
    /// The address for the host, null for device memory.
    pub host_pointer: *mut c_void,
    /// Managed memory, which there is none of.
    pub is_managed: c_int,
    /// The flags it was allocated with.
    pub flags: c_uint,
}

/// What is known of a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipPointerGetAttributes(to: *mut PointerAttributes, pointer: *const c_void) -> Code {
    call("hipPointerGetAttributes", || {
        if pointer.is_null() {
            bail!(INVALID_VALUE, "the pointer is null");
        }
        let process = process()?;
        let attributes = match process.memory.find(pointer as u64) {
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
        // SAFETY: the caller's promise.
        unsafe { put(to, attributes, "the attributes") }
    })
}
