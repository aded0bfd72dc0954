//! Setting memory to a repeated value.

use crate::Code;
use crate::error::{Result, bail, call};
use crate::graph_node::{Labelled, Payload};
use crate::handles::Handle;
use crate::process::{Process, process};
use isobit_simgpu_core::finding::Fault;
use isobit_simgpu_core::queue::Work;
use std::ffi::{c_int, c_uchar, c_ushort, c_void};

/// Elements of 1, 2 or 4 bytes to set, in rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Set {
    pub(crate) to: u64,
    pub(crate) value: u32,
    /// Bytes of an element.
    pub(crate) size: usize,
    /// Bytes of a row, a multiple of `size`.
    pub(crate) width: usize,
    pub(crate) rows: usize,
    /// From a row to the next.
    pub(crate) pitch: usize,
}

const WHAT: &str = "set of device memory";

impl Set {
    fn span(&self) -> usize {
        if self.width == 0 || self.rows == 0 { 0 } else { self.pitch * (self.rows - 1) + self.width }
    }

    /// Checks the arguments as HIP documents; a finding tells of bytes outside of allocations.
    pub(crate) fn check(&self, process: &Process) -> Result {
        if self.span() == 0 {
            return Ok(());
        }
        if self.to == 0 || !self.to.is_multiple_of(self.size as u64) {
            bail!(INVALID_VALUE, "the destination {:#x} is null or not a multiple of {}", self.to, self.size);
        }
        if !process.memory.host_bounds(self.to, self.span(), true, WHAT, &process.findings) {
            bail!(INVALID_VALUE, "no allocation holds the {} bytes at {:#x}", self.span(), self.to);
        }
        Ok(())
    }

    pub(crate) fn work(self, process: &'static Process) -> Work {
        Work::new(move || self.run(process)).labelled(Payload::Set)
    }

    fn run(&self, process: &Process) -> std::result::Result<(), Fault> {
        if !process.memory.host_bounds(self.to, self.span(), true, WHAT, &process.findings) {
            return Err(Fault::new("a set whose memory was freed before its turn"));
        }
        if self.span() == 0 {
            return Ok(());
        }
        for row in 0..self.rows {
            let to = self.to + (row * self.pitch) as u64;
            // SAFETY: a live allocation holds the row, checked above; nothing else has a reference into the arena.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, self.width) };
            let value = self.value.to_le_bytes();
            if self.size == 1 {
                bytes.fill(value[0]);
            } else {
                bytes.chunks_exact_mut(self.size).for_each(|element| element.copy_from_slice(&value[..self.size]));
            }
            process.memory.set_initialised(to, self.width, true);
        }
        Ok(())
    }
}

/// Enqueues a set of `count` elements; waits for it where there is no stream given.
fn elements(to: *mut c_void, value: u32, size: usize, count: usize, stream: Option<Handle>) -> Result {
    let Some(width) = count.checked_mul(size) else { bail!(INVALID_VALUE, "{count} elements of {size} bytes") };
    enqueue(Set { to: to as u64, value, size, width, rows: 1, pitch: width }, stream)
}

fn enqueue(set: Set, stream: Option<Handle>) -> Result {
    let process = process()?;
    set.check(process)?;
    let waits = stream.is_none();
    let stream = process.stream(stream.unwrap_or(std::ptr::null_mut()))?;
    if waits {
        process.queues.refuse_in_capture()?;
    }
    process.queues.enqueue(stream, set.work(process))?;
    if waits {
        process.queues.synchronize(stream)?;
    }
    Ok(())
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

/// Sets bytes.
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
    call("hipMemset2D", || two_dimensions(to, pitch, value, width, rows, None))
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
    call("hipMemset2DAsync", || two_dimensions(to, pitch, value, width, rows, Some(stream)))
}

fn two_dimensions(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    stream: Option<Handle>,
) -> Result {
    if pitch < width || pitch.checked_mul(rows).is_none() {
        bail!(INVALID_VALUE, "{rows} rows of {width} bytes, {pitch} bytes apart");
    }
    enqueue(Set { to: to as u64, value: value as u32, size: 1, width, rows, pitch }, stream)
}
