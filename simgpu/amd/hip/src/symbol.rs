//! Device variables that are registered for host variables.

use crate::Code;
use crate::copy::{enqueue, symbol_kind};
use crate::copy_kinds::{DEVICE_TO_HOST, HOST_TO_DEVICE, of_bytes};
use crate::error::{Result, bail, call, put};
use crate::process::process;
use crate::registered::variable;
use isobit_simgpu_runtime_common::copy::When;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_void};

/// Writes the address of a variable on the current card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGetSymbolAddress", || unsafe { put(to, variable(process()?, symbol)?.0 as *mut c_void, "the address") })
}

/// Writes the size of a variable in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetSymbolSize(to: *mut usize, symbol: *const c_void) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipGetSymbolSize", || unsafe { put(to, variable(process()?, symbol)?.1, "the size") })
}

/// Returns the address of a variable's part of `bytes` bytes at `offset`.
fn part(symbol: *const c_void, offset: usize, bytes: usize) -> Result<u64> {
    let (address, size) = variable(process()?, symbol)?;
    if offset.checked_add(bytes).is_none_or(|end| end > size) {
        bail!(INVALID_VALUE, "{bytes} bytes at offset {offset} exceed the variable's size of {size} bytes");
    }
    Ok(address + offset as u64)
}

fn to_symbol(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Handle,
    when: When,
) -> Result {
    let kind = symbol_kind(kind, HOST_TO_DEVICE)?;
    let copy = of_bytes(part(symbol, offset, bytes)?, from as u64, bytes, kind)?;
    enqueue(process()?, copy, stream, when)
}

fn from_symbol(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Handle,
    when: When,
) -> Result {
    let kind = symbol_kind(kind, DEVICE_TO_HOST)?;
    let copy = of_bytes(to as u64, part(symbol, offset, bytes)?, bytes, kind)?;
    enqueue(process()?, copy, stream, when)
}

const NULL: Handle = std::ptr::null_mut();

/// Copies to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyToSymbol(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Code {
    call("hipMemcpyToSymbol", || to_symbol(symbol, from, bytes, offset, kind, NULL, When::Made))
}

/// Copies to a variable in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    call("hipMemcpyToSymbolAsync", || to_symbol(symbol, from, bytes, offset, kind, stream, When::Enqueued))
}

/// Copies from a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyFromSymbol(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Code {
    call("hipMemcpyFromSymbol", || from_symbol(to, symbol, bytes, offset, kind, NULL, When::Made))
}

/// Copies from a variable in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyFromSymbolAsync(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    call("hipMemcpyFromSymbolAsync", || from_symbol(to, symbol, bytes, offset, kind, stream, When::Enqueued))
}
