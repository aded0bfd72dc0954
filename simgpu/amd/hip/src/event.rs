//! Events.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::process::{current_device, process, working};
use isobit_simgpu_core::queue::EventId;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_float, c_uint};

/// `hipEventDisableTiming`.
const DISABLE_TIMING: c_uint = 2;
/// `hipEventBlockingSync`, `DisableTiming`, `ReleaseToDevice`, `ReleaseToSystem`,
/// `DisableSystemFence`. Not `hipEventInterprocess`.
const KNOWN: c_uint = 0x1 | 0x2 | 0x4000_0000 | 0x8000_0000 | 0x2000_0000;

/// Returns the event of a handle. Fails if its card does not accept calls.
pub(crate) fn id(event: Handle) -> Result<EventId> {
    if event.is_null() {
        bail!(INVALID_HANDLE, "the event is null");
    }
    let (process, event) = (process()?, EventId(event as u64));
    // An unknown event has no card; the caller's next step says so.
    process.machine.queues.event_device(event).map_or(Ok(()), |device| process.check(device))?;
    Ok(event)
}

/// Creates an event that records time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreate(event: *mut Handle) -> Code {
    call("hipEventCreate", || create(event, 0))
}

/// Creates an event with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreateWithFlags(event: *mut Handle, flags: c_uint) -> Code {
    call("hipEventCreateWithFlags", || create(event, flags))
}

fn create(to: *mut Handle, flags: c_uint) -> Result {
    if to.is_null() {
        bail!(INVALID_VALUE, "the pointer to the event is null");
    }
    if flags & !KNOWN != 0 {
        bail!(INVALID_VALUE, "unknown or unsupported flags {flags:#x}");
    }
    let process = working()?;
    let event = process.machine.queues.create_event(current_device())?;
    process.note(event.0, flags, 0);
    // SAFETY: the caller of HIP promises that `to` has room for an event.
    unsafe { put(to, event.0 as Handle, "the event") }
}

/// Destroys an event. Work that waits for it keeps waiting.
#[unsafe(no_mangle)]
pub extern "C" fn hipEventDestroy(event: Handle) -> Code {
    call("hipEventDestroy", || {
        let process = process()?;
        process.machine.queues.destroy_event(id(event)?)?;
        process.origins().remove(&(event as u64));
        Ok(())
    })
}

/// Records an event: it completes when all work that the stream has now is done.
#[unsafe(no_mangle)]
pub extern "C" fn hipEventRecord(event: Handle, stream: Handle) -> Code {
    call("hipEventRecord", || {
        let process = process()?;
        Ok(process.machine.queues.record(id(event)?, process.stream(stream)?)?)
    })
}

/// Waits for an event.
#[unsafe(no_mangle)]
pub extern "C" fn hipEventSynchronize(event: Handle) -> Code {
    call("hipEventSynchronize", || {
        let (process, event) = (process()?, id(event)?);
        process.settle_event(event, process.machine.queues.synchronize_event(event))
    })
}

/// Whether an event has completed; returns `hipErrorNotReady` if not.
#[unsafe(no_mangle)]
pub extern "C" fn hipEventQuery(event: Handle) -> Code {
    call("hipEventQuery", || {
        let (process, event) = (process()?, id(event)?);
        process.settle_event(event, process.machine.queues.query_event(event))
    })
}

/// Writes the milliseconds between two events, measured on the host that runs the simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventElapsedTime(ms: *mut c_float, start: Handle, stop: Handle) -> Code {
    call("hipEventElapsedTime", || {
        let process = process()?;
        let (from, to) = (id(start)?, id(stop)?);
        let untimed = |event: EventId| process.origins().get(&event.0).is_some_and(|o| o.flags & DISABLE_TIMING != 0);
        if untimed(from) || untimed(to) {
            bail!(INVALID_HANDLE, "an event made with hipEventDisableTiming has no time");
        }
        let (time, backwards) = process.machine.queues.elapsed(from, to)?;
        let time = time.as_secs_f32() * 1e3;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(ms, if backwards { -time } else { time }, "the time") }
    })
}
