//! Device memory: allocation, release, address ranges.

use crate::Code;
use crate::current::{Context, current};
use crate::error::{Result, bail, call, put, put_if_wanted};
use crate::managed::MANAGED;
use crate::process::{Process, What, process};
use isobit_simgpu_core::memory::Kind;
use std::ffi::c_uint;
use std::sync::Arc;

/// `CUdeviceptr`.
pub type Address = u64;

/// Allocates memory of a kind in a context; the size must not be zero.
pub(crate) fn allocate(
    process: &Process,
    context: &Arc<Context>,
    bytes: usize,
    kind: Kind,
    flags: c_uint,
) -> Result<u64> {
    if bytes == 0 {
        bail!(INVALID_VALUE, "the size is 0");
    }
    let base = process.machine.allocate(bytes, kind)?;
    process.note(base, What::Memory, context, flags, 0);
    Ok(base)
}

/// Frees memory of a kind when all work is done; a null address is ignored.
pub(crate) fn release(address: u64, kind: Kind) -> Result {
    let process = process()?;
    if address == 0 {
        return Ok(());
    }
    let Some(made) = process.origin(address) else {
        process.machine.starts::<Code>(address, kind)?;
        bail!(INVALID_VALUE, "{address:#x} belongs to a module, or is already being freed in stream order");
    };
    made.context.check()?;
    let found = process.machine.starts::<Code>(address, kind)?;
    made.context.settle(process.machine.release(made.context.queue, address, kind))?;
    process.pools.left(&found);
    process.forget(address);
    Ok(())
}

/// Allocates device memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(to: *mut Address, bytes: usize) -> Code {
    call("cuMemAlloc_v2", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the address is null");
        }
        let base = allocate(process()?, &current()?, bytes, Kind::Device, 0)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, base, "the address") }
    })
}

/// Allocates rows of device memory with a pitch that aligns elements of up to 16 bytes in every
/// row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocPitch_v2(
    to: *mut Address,
    pitch: *mut usize,
    width: usize,
    rows: usize,
    element: c_uint,
) -> Code {
    /// The pitch is a multiple of this number of bytes.
    const STEP: usize = 512;
    call("cuMemAllocPitch_v2", || {
        if to.is_null() || pitch.is_null() || !matches!(element, 4 | 8 | 16) {
            bail!(INVALID_VALUE, "a pointer is null, or the element size is {element} bytes instead of 4, 8 or 16");
        }
        let step = width.checked_next_multiple_of(STEP).unwrap_or(usize::MAX);
        let Some(bytes) = step.checked_mul(rows) else { bail!(INVALID_VALUE, "{rows} rows of {width} bytes") };
        let base = allocate(process()?, &current()?, bytes, Kind::Device, 0)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(pitch, step, "the pitch")?;
            put(to, base, "the address")
        }
    })
}

/// Frees device memory, managed memory, or memory of a pool.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: Address) -> Code {
    call("cuMemFree_v2", || {
        let managed = process()?.origin(address).is_some_and(|made| made.flags & MANAGED != 0);
        release(address, if managed { Kind::Pinned } else { Kind::Device })
    })
}

/// Returns the free and total bytes of device memory. All devices share the memory of the
/// simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    call("cuMemGetInfo_v2", || {
        current()?;
        let usage = process()?.machine.memory.usage();
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put(free, (usage.capacity - usage.in_use) as usize, "the free bytes")?;
            put(total, usage.capacity as usize, "the total bytes")
        }
    })
}

/// Returns the base and size of the allocation that contains an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAddressRange_v2(base: *mut Address, bytes: *mut usize, at: Address) -> Code {
    call("cuMemGetAddressRange_v2", || {
        let found = process()?.machine.find(at, Code::NOT_FOUND)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(base, found.base);
            put_if_wanted(bytes, found.bytes as usize);
        }
        Ok(())
    })
}
