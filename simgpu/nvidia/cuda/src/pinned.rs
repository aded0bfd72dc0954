//! Host memory that kernels can access (pinned), and host memory that is registered for copies.

use crate::Code;
use crate::current::{current, current_slot};
use crate::error::{Result, bail, call, put};
use crate::managed::MANAGED;
use crate::memory::{Address, allocate, release};
use crate::process::process;
use isobit_simgpu_core::memory::Kind;
use std::ffi::{c_uint, c_void};

/// `CU_MEMHOSTALLOC_PORTABLE`, `DEVICEMAP`, `WRITECOMBINED`.
const ALLOC_FLAGS: c_uint = 1 | 2 | 4;

/// The flags of all host memory, because the host and the devices share one address space.
const PORTABLE_AND_MAPPED: c_uint = 1 | 2;

/// Allocates host memory that kernels access at the same address. A size of zero gives null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemHostAlloc", || unsafe { allocate_pinned(to, bytes, flags) })
}

/// # Safety
/// `to` is null or can be written.
unsafe fn allocate_pinned(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> Result {
    if to.is_null() || flags & !ALLOC_FLAGS != 0 {
        bail!(INVALID_VALUE, "the pointer to the address is null, or the flags are unknown: {flags:#x}");
    }
    let (process, context) = (process()?, current()?);
    let flags = flags | PORTABLE_AND_MAPPED;
    let base = if bytes == 0 { 0 } else { allocate(process, &context, bytes, Kind::Pinned, flags)? };
    // SAFETY: as the caller promises.
    unsafe { put(to, base as *mut c_void, "the address") }
}

/// Like [`cuMemHostAlloc`] without flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuMemAllocHost_v2", || unsafe { allocate_pinned(to, bytes, 0) })
}

/// Frees memory of [`cuMemHostAlloc`].
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: *mut c_void) -> Code {
    call("cuMemFreeHost", || {
        if process()?.origin(address as u64).is_some_and(|made| made.flags & MANAGED != 0) {
            bail!(INVALID_VALUE, "{address:p} is managed memory");
        }
        release(address as u64, Kind::Pinned)
    })
}

/// Returns the device address of host memory, which is the same address. Registered memory has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(to: *mut Address, host: *mut c_void, flags: c_uint) -> Code {
    call("cuMemHostGetDevicePointer_v2", || {
        let (machine, address) = (&process()?.machine, host as u64);
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        if machine.registered_at(address).is_some() {
            bail!(NOT_SUPPORTED, "kernels cannot access {host:p}, because the simulator did not allocate it");
        }
        let found = machine.find(address, Code::INVALID_VALUE)?;
        if found.kind != Kind::Pinned {
            bail!(INVALID_VALUE, "{host:p} is no host memory; it lies in {found}");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, address, "the address") }
    })
}

/// Returns the flags that host memory was allocated with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetFlags(to: *mut c_uint, host: *mut c_void) -> Code {
    call("cuMemHostGetFlags", || {
        let process = process()?;
        let found = process.machine.find(host as u64, Code::INVALID_VALUE)?;
        let made = process.origin(found.base).filter(|made| found.kind == Kind::Pinned && made.flags & MANAGED == 0);
        let Some(made) = made else { bail!(INVALID_VALUE, "{host:p} is no host memory; it lies in {found}") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, made.flags, "the flags") }
    })
}

/// Registers host memory, so that copies of it need not finish before their calls return. Kernels
/// cannot access it: the flags `CU_MEMHOSTREGISTER_DEVICEMAP` (2), device memory (4) and read-only
/// (8) are therefore rejected.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(host: *mut c_void, bytes: usize, flags: c_uint) -> Code {
    call("cuMemHostRegister_v2", || {
        let (context, machine) = (current()?, &process()?.machine);
        if host.is_null() || bytes == 0 || flags & !0xf != 0 {
            bail!(INVALID_VALUE, "cannot register {bytes} bytes at {host:p} with flags {flags:#x}");
        }
        if flags & !1 != 0 {
            bail!(NOT_SUPPORTED, "kernels cannot access memory that the simulator did not allocate: flags {flags:#x}");
        }
        context.settle(machine.queues.refuse_in_capture().map_err(Into::into))?;
        if machine.memory.holds(host as u64) || !machine.register(host as u64, bytes as u64) {
            bail!(
                HOST_MEMORY_ALREADY_REGISTERED,
                "some of the {bytes} bytes at {host:p} are already registered or allocated"
            );
        }
        Ok(())
    })
}

/// Unregisters memory when all work is done.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(host: *mut c_void) -> Code {
    call("cuMemHostUnregister", || {
        let machine = &process()?.machine;
        let address = host as u64;
        let inside = machine.registered_at(address).is_some_and(|(start, _)| start != address);
        if host.is_null() || inside || machine.memory.holds(address) {
            bail!(INVALID_VALUE, "{host:p} is not the start of registered memory");
        }
        machine.queues.refuse_in_capture()?;
        let context = current_slot().and_then(|(_, slot)| slot.get());
        machine.queues.drain(context.map(|context| context.queue))?;
        if !machine.unregister(address) {
            bail!(HOST_MEMORY_NOT_REGISTERED, "no registered memory starts at {host:p}");
        }
        Ok(())
    })
}
