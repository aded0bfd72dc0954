//! Events.

use crate::Code;
use crate::current::current;
use crate::error::{Error, Result, bail, call, put};
use crate::process::{Made, What, process};
use isobit_simgpu_core::queue::EventId;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_float, c_uint};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;
/// `CU_EVENT_INTERPROCESS`, which is valid only together with `CU_EVENT_DISABLE_TIMING`.
const INTERPROCESS: c_uint = 4;
/// `CU_EVENT_BLOCKING_SYNC` and the two flags above.
const KNOWN: c_uint = 1 | DISABLE_TIMING | INTERPROCESS;

/// Returns how an event was created; fails if its context is destroyed or has failed.
fn made(event: Handle) -> Result<Made> {
    process()?.find(event as u64, What::Event)
}

/// Returns the event that a handle names.
pub(crate) fn id(event: Handle) -> Result<EventId> {
    made(event)?;
    Ok(EventId(event as u64))
}

/// Rejects the flag that makes a record or a wait a node of a captured graph.
pub(crate) fn check_external(flags: c_uint) -> Result {
    match flags {
        0 => Ok(()),
        1 => bail!(ILLEGAL_STATE, "external event nodes in captures are not supported"),
        _ => bail!(INVALID_VALUE, "unknown flags {flags:#x}"),
    }
}

/// Creates an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(to: *mut Handle, flags: c_uint) -> Code {
    call("cuEventCreate", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the event is null");
        }
        if flags & !KNOWN != 0 || (flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0) {
            bail!(INVALID_VALUE, "unknown or contradicting flags {flags:#x}");
        }
        let (process, context) = (process()?, current()?);
        let event = process.machine.queues.create_event(context.queue)?;
        process.note(event.0, What::Event, &context, flags, 0);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, event.0 as Handle, "the event") }
    })
}

/// Destroys an event; pending waits for it continue.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Handle) -> Code {
    call("cuEventDestroy_v2", || {
        let process = process()?;
        process.machine.queues.destroy_event(id(event)?)?;
        process.forget(event as u64);
        Ok(())
    })
}

fn record(event: Handle, stream: Handle) -> Result {
    let process = process()?;
    Ok(process.machine.queues.record(id(event)?, process.stream(stream)?.id)?)
}

/// Records an event: it completes when all work that the stream has now is done.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    call("cuEventRecord", || record(event, stream))
}

/// Like [`cuEventRecord`], with flags; none is supported.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) -> Code {
    call("cuEventRecordWithFlags", || {
        check_external(flags)?;
        record(event, stream)
    })
}

/// Waits for an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Handle) -> Code {
    call("cuEventSynchronize", || {
        let context = made(event)?.context;
        let happened = process()?.machine.queues.synchronize_event(EventId(event as u64));
        context.settle(happened.map_err(Error::from))
    })
}

/// Whether an event has completed; `CUDA_ERROR_NOT_READY` if not.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Handle) -> Code {
    call("cuEventQuery", || {
        let context = made(event)?.context;
        let happened = process()?.machine.queues.query_event(EventId(event as u64));
        context.settle(happened.map_err(Error::from))
    })
}

fn elapsed(ms: *mut c_float, start: Handle, stop: Handle) -> Result {
    let process = process()?;
    let (from, to) = (made(start)?, made(stop)?);
    if (from.flags | to.flags) & DISABLE_TIMING != 0 {
        bail!(INVALID_HANDLE, "an event created with CU_EVENT_DISABLE_TIMING has no time");
    }
    let (time, backwards) = process.machine.queues.elapsed(EventId(start as u64), EventId(stop as u64))?;
    let time = time.as_secs_f32() * 1e3;
    // SAFETY: the caller of CUDA promises room for the time.
    unsafe { put(ms, if backwards { -time } else { time }, "the time") }
}

/// Returns the milliseconds between two events, measured on the host that runs the simulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(ms: *mut c_float, start: Handle, stop: Handle) -> Code {
    call("cuEventElapsedTime", || elapsed(ms, start, stop))
}

/// Like [`cuEventElapsedTime`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime_v2(ms: *mut c_float, start: Handle, stop: Handle) -> Code {
    call("cuEventElapsedTime_v2", || elapsed(ms, start, stop))
}
