//! Copies of contiguous bytes.

use crate::Code;
use crate::error::{Result, call};
use crate::memory::Address;
use crate::process::process;
use isobit_simgpu_runtime_common::copy::{Copy, When};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::c_void;

/// The legacy default stream.
pub(crate) const NULL: Handle = std::ptr::null_mut();

/// Enqueues a copy and waits if `when` says so. A copy that waits affects only the captures that
/// the legacy default stream would wait for.
pub(crate) fn enqueue(copy: Copy, stream: Handle, when: When) -> Result {
    let process = process()?;
    let stream = process.stream(stream)?;
    copy.check::<Code>(&process.machine)?;
    let waits = when == When::Made || copy.is_pageable(&process.machine);
    let done = copy.enqueue(&process.machine, stream.id, when);
    if waits { stream.context.settle(done) } else { done }
}

/// Where each end of the copy is; the called function decides it.
const HOST: bool = false;
const DEVICE: bool = true;

fn bytes(to: (u64, bool), from: (u64, bool), size: usize, stream: Handle, when: When) -> Result {
    enqueue(Copy::of_bytes(to.0, to.1, from.0, from.1, size), stream, when)
}

/// Copies between any two addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy(to: Address, from: Address, size: usize) -> Code {
    call("cuMemcpy", || bytes((to, HOST), (from, HOST), size, NULL, When::Made))
}

/// Copies between any two addresses in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAsync(to: Address, from: Address, size: usize, stream: Handle) -> Code {
    call("cuMemcpyAsync", || bytes((to, HOST), (from, HOST), size, stream, When::Enqueued))
}

/// Copies from the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, size: usize) -> Code {
    call("cuMemcpyHtoD_v2", || bytes((to, DEVICE), (from as u64, HOST), size, NULL, When::Made))
}

/// Copies from the host in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, size: usize, stream: Handle) -> Code {
    call("cuMemcpyHtoDAsync_v2", || bytes((to, DEVICE), (from as u64, HOST), size, stream, When::Enqueued))
}

/// Copies to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, size: usize) -> Code {
    call("cuMemcpyDtoH_v2", || bytes((to as u64, HOST), (from, DEVICE), size, NULL, When::Made))
}

/// Copies to the host in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, size: usize, stream: Handle) -> Code {
    call("cuMemcpyDtoHAsync_v2", || bytes((to as u64, HOST), (from, DEVICE), size, stream, When::Enqueued))
}

/// Copies on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoD_v2(to: Address, from: Address, size: usize) -> Code {
    call("cuMemcpyDtoD_v2", || bytes((to, DEVICE), (from, DEVICE), size, NULL, When::Made))
}

/// Copies on the device in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, size: usize, stream: Handle) -> Code {
    call("cuMemcpyDtoDAsync_v2", || bytes((to, DEVICE), (from, DEVICE), size, stream, When::Enqueued))
}
