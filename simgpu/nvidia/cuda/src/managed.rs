//! Managed memory, which the host and kernels access at the same address, and hints about it.

use crate::Code;
use crate::current::current;
use crate::error::{Result, bail, call, put};
use crate::memory::{Address, allocate};
use crate::pool::Location;
use crate::process::process;
use isobit_simgpu_core::memory::Kind;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint};

/// Allocates managed memory: with `CU_MEM_ATTACH_GLOBAL` (1) or `CU_MEM_ATTACH_HOST` (2). The
/// simulator does not see host writes, so the whole allocation counts as written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(to: *mut Address, bytes: usize, flags: c_uint) -> Code {
    call("cuMemAllocManaged", || {
        if to.is_null() || !matches!(flags, 1 | 2) {
            bail!(INVALID_VALUE, "the pointer to the address is null, or the flags are not 1 or 2: {flags:#x}");
        }
        let base = allocate(process()?, &current()?, bytes, Kind::Pinned, MANAGED | flags)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, base, "the address") }
    })
}

/// Marks memory of [`cuMemAllocManaged`] in the table of allocations; this is not a CUDA flag.
pub(crate) const MANAGED: c_uint = 1 << 31;

/// Checks that managed memory covers a range, for the functions that give hints about it.
fn check_managed(address: Address, bytes: usize) -> Result {
    let process = process()?;
    let found = process.machine.find(address, Code::INVALID_VALUE)?;
    let managed = process.origin(found.base).is_some_and(|made| made.flags & MANAGED != 0);
    if !managed || bytes == 0 || bytes as u64 > found.base + found.bytes - address {
        bail!(INVALID_VALUE, "the {bytes} bytes at {address:#x} are not managed memory");
    }
    Ok(())
}

/// Prefetches managed memory, which does nothing here.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync_v2(
    address: Address,
    bytes: usize,
    _to: Location,
    flags: u32,
    stream: Handle,
) -> Code {
    call("cuMemPrefetchAsync_v2", || {
        process()?.stream(stream)?;
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        check_managed(address, bytes)
    })
}

/// Gives a hint about the use of managed memory; it has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAdvise_v2(address: Address, bytes: usize, advice: c_int, _for: Location) -> Code {
    call("cuMemAdvise_v2", || {
        current()?;
        if !(1..=6).contains(&advice) {
            bail!(INVALID_VALUE, "{advice} is not an advice");
        }
        check_managed(address, bytes)
    })
}

/// Attaches managed memory to a stream; it has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAttachMemAsync(stream: Handle, address: Address, bytes: usize, flags: u32) -> Code {
    call("cuStreamAttachMemAsync", || {
        let process = process()?;
        process.stream(stream)?;
        if !matches!(flags, 1 | 2 | 4) {
            bail!(INVALID_VALUE, "unknown flags {flags:#x}");
        }
        let found = process.machine.find(address, Code::INVALID_VALUE)?;
        check_managed(address, if bytes == 0 { (found.base + found.bytes - address) as usize } else { bytes })
    })
}
