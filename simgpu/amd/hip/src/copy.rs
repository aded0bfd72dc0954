//! Memory copies.

use crate::Code;
use crate::copy_kinds::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, devices, of_bytes};
use crate::error::{Result, bail, call};
use crate::process::{Process, process};
use isobit_simgpu_runtime_common::copy::{Copy, End, When};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_void};

/// Enqueues a copy. A blocking copy is refused during a capture.
pub(crate) fn enqueue(process: &'static Process, copy: Copy, stream: Handle, when: When) -> Result {
    copy.check::<Code>(&process.machine)?;
    let stream = process.stream(stream)?;
    if when == When::Made {
        process.machine.queues.refuse_in_capture()?;
    }
    let waits = when == When::Made || copy.is_pageable(&process.machine);
    let done = copy.enqueue(&process.machine, stream, when);
    if waits { process.settle_stream(stream, done) } else { done }
}

fn bytes(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: Handle, when: When) -> Result {
    enqueue(process()?, of_bytes(to as u64, from as u64, bytes, kind)?, stream, when)
}

const NULL: Handle = std::ptr::null_mut();

/// Copies bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) -> Code {
    call("hipMemcpy", || bytes(to, from, size, kind, NULL, When::Made))
}

/// Copies bytes in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    call("hipMemcpyAsync", || bytes(to, from, size, kind, stream, When::Enqueued))
}

/// Copies bytes in stream order, and waits for the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyWithStream(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    call("hipMemcpyWithStream", || bytes(to, from, size, kind, stream, When::Made))
}

/// Copies from the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyHtoD(to: *mut c_void, from: *const c_void, size: usize) -> Code {
    call("hipMemcpyHtoD", || bytes(to, from, size, HOST_TO_DEVICE, NULL, When::Made))
}

/// Copies to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyDtoH(to: *mut c_void, from: *const c_void, size: usize) -> Code {
    call("hipMemcpyDtoH", || bytes(to, from, size, DEVICE_TO_HOST, NULL, When::Made))
}

/// Copies on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyDtoD(to: *mut c_void, from: *const c_void, size: usize) -> Code {
    call("hipMemcpyDtoD", || bytes(to, from, size, DEVICE_TO_DEVICE, NULL, When::Made))
}

/// Copies from the host in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyHtoDAsync(to: *mut c_void, from: *const c_void, size: usize, stream: Handle) -> Code {
    call("hipMemcpyHtoDAsync", || bytes(to, from, size, HOST_TO_DEVICE, stream, When::Enqueued))
}

/// Copies to the host in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyDtoHAsync(to: *mut c_void, from: *const c_void, size: usize, stream: Handle) -> Code {
    call("hipMemcpyDtoHAsync", || bytes(to, from, size, DEVICE_TO_HOST, stream, When::Enqueued))
}

/// Copies on the device in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyDtoDAsync(to: *mut c_void, from: *const c_void, size: usize, stream: Handle) -> Code {
    call("hipMemcpyDtoDAsync", || bytes(to, from, size, DEVICE_TO_DEVICE, stream, When::Enqueued))
}

/// Copies from one card to another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    size: usize,
) -> Code {
    call("hipMemcpyPeer", || {
        let process = process()?;
        process.device(to_device).and(process.device(from_device))?;
        bytes(to, from, size, DEVICE_TO_DEVICE, NULL, When::Made)
    })
}

/// Copies from one card to another in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    size: usize,
    stream: Handle,
) -> Code {
    call("hipMemcpyPeerAsync", || {
        let process = process()?;
        process.device(to_device).and(process.device(from_device))?;
        bytes(to, from, size, DEVICE_TO_DEVICE, stream, When::Enqueued)
    })
}

/// Copies rows of `width` bytes; each side has its own pitch in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    rows: usize,
    kind: c_int,
) -> Code {
    let (to, from) = ((to as u64, to_pitch), (from as u64, from_pitch));
    call("hipMemcpy2D", || two_dimensions(to, from, width, rows, kind, NULL, When::Made))
}

/// Copies rows in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    rows: usize,
    kind: c_int,
    stream: Handle,
) -> Code {
    let (to, from) = ((to as u64, to_pitch), (from as u64, from_pitch));
    call("hipMemcpy2DAsync", || two_dimensions(to, from, width, rows, kind, stream, When::Enqueued))
}

/// Enqueues a copy of rows between two addresses, each with its pitch.
fn two_dimensions(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    width: usize,
    rows: usize,
    kind: c_int,
    stream: Handle,
    when: When,
) -> Result {
    for pitch in [to_pitch, from_pitch] {
        if pitch < width {
            bail!(INVALID_PITCH_VALUE, "rows of {width} bytes, {pitch} bytes apart");
        }
    }
    let (to_device, from_device) = devices(kind)?;
    let (to, from) = (End::of_rows(to, to_pitch, to_device), End::of_rows(from, from_pitch, from_device));
    enqueue(process()?, Copy { to, from, width, rows, layers: 1 }, stream, when)
}

/// Checks the direction of a copy between a symbol and memory, and returns it; `hipMemcpyDefault`
/// is valid for both directions.
pub(crate) fn symbol_kind(kind: c_int, wanted: c_int) -> Result<c_int> {
    match kind {
        DEFAULT | DEVICE_TO_DEVICE => Ok(kind),
        kind if kind == wanted => Ok(kind),
        _ => bail!(INVALID_MEMCPY_DIRECTION, "{kind} is not a valid kind for a copy to or from a symbol"),
    }
}
