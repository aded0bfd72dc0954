//! Setting memory to a repeated value.

use crate::Code;
use crate::error::{Result, call};
use crate::process::process;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::set::Set;
use std::ffi::{c_int, c_uchar, c_ushort, c_void};

/// Enqueues a memset. Without a stream, waits for it, which is an error during a capture.
fn enqueue(set: Set, stream: Option<Handle>) -> Result {
    let process = process()?;
    set.check::<Code>(&process.machine)?;
    let waits = stream.is_none();
    let stream = process.stream(stream.unwrap_or(std::ptr::null_mut()))?;
    if waits {
        process.machine.queues.refuse_in_capture()?;
    }
    let done = set.enqueue(&process.machine, stream, waits);
    if waits { process.settle_stream(stream, done) } else { done }
}

fn elements(to: *mut c_void, value: u32, size: usize, count: usize, stream: Option<Handle>) -> Result {
    enqueue(Set::of_elements(to as u64, value, size, count)?, stream)
}

/// Sets bytes to the low byte of a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemset(to: *mut c_void, value: c_int, bytes: usize) -> Code {
    call("hipMemset", || elements(to, value as u32, 1, bytes, None))
}

/// Sets bytes to the low byte of a value, in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: Handle) -> Code {
    call("hipMemsetAsync", || elements(to, value as u32, 1, bytes, Some(stream)))
}

/// Sets bytes to a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD8(to: *mut c_void, value: c_uchar, count: usize) -> Code {
    call("hipMemsetD8", || elements(to, value.into(), 1, count, None))
}

/// Sets bytes in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD8Async(to: *mut c_void, value: c_uchar, count: usize, stream: Handle) -> Code {
    call("hipMemsetD8Async", || elements(to, value.into(), 1, count, Some(stream)))
}

/// Sets elements of 16 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD16(to: *mut c_void, value: c_ushort, count: usize) -> Code {
    call("hipMemsetD16", || elements(to, value.into(), 2, count, None))
}

/// Sets elements of 16 bits in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD16Async(to: *mut c_void, value: c_ushort, count: usize, stream: Handle) -> Code {
    call("hipMemsetD16Async", || elements(to, value.into(), 2, count, Some(stream)))
}

/// Sets elements of 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD32(to: *mut c_void, value: c_int, count: usize) -> Code {
    call("hipMemsetD32", || elements(to, value as u32, 4, count, None))
}

/// Sets elements of 32 bits in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemsetD32Async(to: *mut c_void, value: c_int, count: usize, stream: Handle) -> Code {
    call("hipMemsetD32Async", || elements(to, value as u32, 4, count, Some(stream)))
}

/// Sets rows of bytes, `pitch` bytes apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, rows: usize) -> Code {
    call("hipMemset2D", || enqueue(Set::of_rows(to as u64, pitch, value as u32, 1, width, rows)?, None))
}

/// Sets rows of bytes, `pitch` bytes apart, in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemset2DAsync(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    stream: Handle,
) -> Code {
    call("hipMemset2DAsync", || enqueue(Set::of_rows(to as u64, pitch, value as u32, 1, width, rows)?, Some(stream)))
}
