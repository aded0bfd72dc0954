//! Streams.

use crate::Code;
use crate::device::{GREATEST_PRIORITY, LEAST_PRIORITY};
use crate::error::{Result, bail, call, put};
use crate::process::{Origin, current_device, process, working};
use isobit_simgpu_core::queue::StreamId;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint};

/// `hipStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;

/// Creates a stream that synchronizes with the legacy default stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreate(stream: *mut Handle) -> Code {
    call("hipStreamCreate", || create(stream, 0, 0))
}

/// Creates a stream. With flag 1 it does not synchronize with the legacy default stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) -> Code {
    call("hipStreamCreateWithFlags", || create(stream, flags, 0))
}

/// Creates a stream with a priority. Priorities have no effect here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) -> Code {
    call("hipStreamCreateWithPriority", || create(stream, flags, priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY)))
}

fn create(to: *mut Handle, flags: c_uint, priority: c_int) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the stream is null");
    }
    if flags & !NON_BLOCKING != 0 {
        bail!(INVALID_VALUE, "unknown flags {flags:#x}");
    }
    let process = working()?;
    let stream = process.machine.queues.create_stream(current_device(), flags & NON_BLOCKING == 0)?;
    process.note(stream.0, flags, priority);
    // SAFETY: the caller of HIP promises that `to` has room for a stream.
    unsafe { put(to, stream.0 as Handle, "the stream") }
}

/// Destroys a stream. Its pending work still runs.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamDestroy(stream: Handle) -> Code {
    call("hipStreamDestroy", || {
        let process = process()?;
        if (stream as u64) <= 2 {
            bail!(INVALID_HANDLE, "the streams that HIP makes stay");
        }
        process.stream(stream)?;
        process.machine.queues.destroy_stream(StreamId(stream as u64))?;
        process.origins().remove(&(stream as u64));
        Ok(())
    })
}

/// Waits for all work of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamSynchronize(stream: Handle) -> Code {
    call("hipStreamSynchronize", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        process.settle_stream(stream, process.machine.queues.synchronize(stream))
    })
}

/// Whether all work of a stream is done; `hipErrorNotReady` if not.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamQuery(stream: Handle) -> Code {
    call("hipStreamQuery", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        process.settle_stream(stream, process.machine.queues.query(stream))
    })
}

/// Makes later work of a stream wait for an event.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> Code {
    call("hipStreamWaitEvent", || {
        if flags != 0 {
            bail!(INVALID_VALUE, "the flags must be 0, not {flags:#x}");
        }
        let process = process()?;
        Ok(process.machine.queues.wait_event(process.stream(stream)?, crate::event::id(event)?)?)
    })
}

/// Returns how a stream was created. Streams that HIP creates itself have no flags and no priority.
fn origin(stream: Handle) -> Result<Origin> {
    let process = process()?;
    let stream = process.stream(stream)?;
    let device = process.machine.queues.device_of(stream)?;
    Ok(process.origins().get(&stream.0).copied().unwrap_or(Origin { device, flags: 0, priority: 0 }))
}

/// Writes the flags of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetFlags(stream: Handle, flags: *mut c_uint) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipStreamGetFlags", || unsafe { put(flags, origin(stream)?.flags, "the flags") })
}

/// Writes the priority of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetPriority(stream: Handle, priority: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipStreamGetPriority", || unsafe { put(priority, origin(stream)?.priority, "the priority") })
}

/// Writes the card of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetDevice(stream: Handle, device: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipStreamGetDevice", || unsafe { put(device, origin(stream)?.device as c_int, "the device") })
}
