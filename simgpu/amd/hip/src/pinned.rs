//! Host memory that kernels can access.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::memory::{allocate, release};
use crate::process::process;
use isobit_simgpu_core::memory::Kind;
use std::ffi::{c_uint, c_void};

/// `hipHostMallocPortable`, `Mapped`, `WriteCombined`, `NumaUser`, `Coherent`, `NonCoherent`.
const KNOWN: c_uint = 0x1 | 0x2 | 0x4 | 0x2000_0000 | 0x4000_0000 | 0x8000_0000;
const COHERENT: c_uint = 0x4000_0000;
const NON_COHERENT: c_uint = 0x8000_0000;

/// Allocates host memory that kernels access at the same address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostMalloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipHostMalloc", || unsafe { allocate_pinned(to, bytes, flags) })
}

/// # Safety
/// `to` is null or can be written.
unsafe fn allocate_pinned(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the address is null");
    }
    if flags & !KNOWN != 0 || (flags & COHERENT != 0 && flags & NON_COHERENT != 0) {
        bail!(INVALID_VALUE, "unknown or contradicting flags {flags:#x}");
    }
    let base = allocate(process()?, bytes, Kind::Pinned, flags)?;
    // SAFETY: as the caller promises.
    unsafe { put(to, base as *mut c_void, "the address") }
}

/// As [`hipHostMalloc`] without flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMallocHost(to: *mut *mut c_void, bytes: usize) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipMallocHost", || unsafe { allocate_pinned(to, bytes, 0) })
}

/// Frees memory of [`hipHostMalloc`].
#[unsafe(no_mangle)]
pub extern "C" fn hipHostFree(address: *mut c_void) -> Code {
    call("hipHostFree", || release(address, Kind::Pinned))
}

/// As [`hipHostFree`].
#[unsafe(no_mangle)]
pub extern "C" fn hipFreeHost(address: *mut c_void) -> Code {
    call("hipFreeHost", || release(address, Kind::Pinned))
}

/// Writes the device address of host memory, which is the same as its host address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostGetDevicePointer(to: *mut *mut c_void, host: *mut c_void, flags: c_uint) -> Code {
    call("hipHostGetDevicePointer", || {
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        let found = process()?.machine.find(host as u64, Code::INVALID_VALUE)?;
        if found.kind != Kind::Pinned {
            bail!(INVALID_VALUE, "{host:p} is no host memory; it lies in {found}");
        }
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, host, "the address") }
    })
}

/// Writes the flags with which host memory was allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipHostGetFlags(to: *mut c_uint, host: *mut c_void) -> Code {
    call("hipHostGetFlags", || {
        let process = process()?;
        let found = process.machine.find(host as u64, Code::INVALID_VALUE)?;
        let flags = process.origins().get(&found.base).filter(|_| found.kind == Kind::Pinned).map(|made| made.flags);
        let Some(flags) = flags else { bail!(INVALID_VALUE, "{host:p} is no host memory; it lies in {found}") };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, flags, "the flags") }
    })
}
