//! Computes how many blocks of a kernel a multiprocessor can hold. Registers, wave slots and shared
//! memory limit the number.

use crate::Code;
use crate::card::MAX_THREADS;
use crate::error::{Result, bail, call, put};
use crate::module::{Function, function};
use crate::process::{Process, process};
use crate::registered;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

/// Returns the number of blocks of `size` threads that a multiprocessor can hold at a time.
fn active_blocks(process: &Process, function: &Function, size: c_int, dynamic: usize) -> Result<c_int> {
    let size = match u32::try_from(size) {
        Ok(size) if size > 0 => size,
        _ => bail!(INVALID_VALUE, "blocks of {size} threads"),
    };
    if size > MAX_THREADS {
        return Ok(0);
    }
    let units = process.cards[function.device].card.units;
    Ok(units.groups(&function.kernel, size, dynamic) as c_int)
}

/// Returns the grid and block that fill a card. The block is as large as the limit, the kernel and
/// its registers allow.
fn best(process: &Process, function: &Function, dynamic: usize, limit: c_int) -> (c_int, c_int) {
    let (units, kernel) = (process.cards[function.device].card.units, &function.kernel);
    let most = kernel.max_threads.min(MAX_THREADS);
    let limit = u32::try_from(limit).ok().filter(|&limit| limit > 0).unwrap_or(most).min(most);
    let held = units.threads(kernel);
    let block = limit.next_multiple_of(units.lanes).min(held).max(1);
    let blocks = (held / block).min(units.groups_by_local(kernel, dynamic));
    ((units.count * blocks) as c_int, block as c_int)
}

fn put_active(to: *mut c_int, function: Result<Arc<Function>>, size: c_int, dynamic: usize, flags: c_uint) -> Result {
    // `hipOccupancyDisableCachingOverride` has no effect on AMD's cards.
    if flags > 1 {
        bail!(INVALID_VALUE, "unknown flags {flags:#x}");
    }
    let blocks = active_blocks(process()?, &*function?, size, dynamic)?;
    // SAFETY: the caller of HIP promises that `to` has room for the number.
    unsafe { put(to, blocks, "the number of blocks") }
}

fn put_best(
    grid: *mut c_int,
    block: *mut c_int,
    function: Result<Arc<Function>>,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Result {
    if flags > 1 {
        bail!(INVALID_VALUE, "unknown flags {flags:#x}");
    }
    let (blocks, threads) = best(process()?, &*function?, dynamic, limit);
    // SAFETY: the caller of HIP promises that both pointers have room for the numbers.
    unsafe {
        put(grid, blocks, "the grid")?;
        put(block, threads, "the block")
    }
}

/// Writes the number of blocks of a kernel that a multiprocessor can hold at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    handle: Handle,
    size: c_int,
    dynamic: usize,
) -> Code {
    call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", || {
        put_active(to, function(process()?, handle), size, dynamic, 0)
    })
}

/// As [`hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut c_int,
    handle: Handle,
    size: c_int,
    dynamic: usize,
    flags: c_uint,
) -> Code {
    call("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", || {
        put_active(to, function(process()?, handle), size, dynamic, flags)
    })
}

/// Writes the number of blocks that a multiprocessor can hold at a time, for the kernel that is
/// registered for a host function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    host: *const c_void,
    size: c_int,
    dynamic: usize,
) -> Code {
    call("hipOccupancyMaxActiveBlocksPerMultiprocessor", || {
        put_active(to, registered::function(process()?, host), size, dynamic, 0)
    })
}

/// As [`hipOccupancyMaxActiveBlocksPerMultiprocessor`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut c_int,
    host: *const c_void,
    size: c_int,
    dynamic: usize,
    flags: c_uint,
) -> Code {
    call("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", || {
        put_active(to, registered::function(process()?, host), size, dynamic, flags)
    })
}

/// Writes the grid and block with which a kernel fills the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    handle: Handle,
    dynamic: usize,
    limit: c_int,
) -> Code {
    call("hipModuleOccupancyMaxPotentialBlockSize", || {
        put_best(grid, block, function(process()?, handle), dynamic, limit, 0)
    })
}

/// As [`hipModuleOccupancyMaxPotentialBlockSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut c_int,
    block: *mut c_int,
    handle: Handle,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Code {
    call("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", || {
        put_best(grid, block, function(process()?, handle), dynamic, limit, flags)
    })
}

/// Writes the grid and block with which a kernel, registered for a host function, fills the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    host: *const c_void,
    dynamic: usize,
    limit: c_int,
) -> Code {
    call("hipOccupancyMaxPotentialBlockSize", || {
        put_best(grid, block, registered::function(process()?, host), dynamic, limit, 0)
    })
}
