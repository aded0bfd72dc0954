//! Streams.

use crate::Code;
use crate::context::PRIORITIES;
use crate::current::current;
use crate::error::{Error, Result, bail, call, put};
use crate::process::{Made, What, process};
use isobit_simgpu_core::queue::StreamId;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint, c_ulonglong};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;

/// Creates a stream; with flag 1 it does not synchronize with the legacy default stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(to: *mut Handle, flags: c_uint) -> Code {
    call("cuStreamCreate", || create(to, flags, 0))
}

/// Creates a stream with a priority, which has no effect here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) -> Code {
    call("cuStreamCreateWithPriority", || create(to, flags, priority.clamp(PRIORITIES.1, PRIORITIES.0)))
}

fn create(to: *mut Handle, flags: c_uint, priority: c_int) -> Result {
    if to.is_null() || flags & !NON_BLOCKING != 0 {
        bail!(INVALID_VALUE, "the pointer to the stream is null, or the flags are unknown: {flags:#x}");
    }
    let (process, context) = (process()?, current()?);
    let stream = process.machine.queues.create_stream(context.queue, flags & NON_BLOCKING == 0)?;
    process.note(stream.0, What::Stream, &context, flags, priority);
    // SAFETY: not null, and the caller of CUDA promises room for a stream.
    unsafe { put(to, stream.0 as Handle, "the stream") }
}

/// Destroys a stream; its pending work continues.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Code {
    call("cuStreamDestroy_v2", || {
        let process = process()?;
        if (stream as u64) <= 2 {
            bail!(INVALID_HANDLE, "the default streams cannot be destroyed");
        }
        process.find(stream as u64, What::Stream)?;
        process.machine.queues.destroy_stream(StreamId(stream as u64))?;
        process.forget(stream as u64);
        Ok(())
    })
}

/// Waits for all work of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> Code {
    call("cuStreamSynchronize", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        stream.context.settle(process.machine.queues.synchronize(stream.id).map_err(Error::from))
    })
}

/// Whether all work of a stream is done; `CUDA_ERROR_NOT_READY` if not.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: Handle) -> Code {
    call("cuStreamQuery", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        stream.context.settle(process.machine.queues.query(stream.id).map_err(Error::from))
    })
}

/// Makes later work on a stream wait for an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> Code {
    call("cuStreamWaitEvent", || {
        let process = process()?;
        let (stream, event) = (process.stream(stream)?, crate::event::id(event)?);
        crate::event::check_external(flags)?;
        Ok(process.machine.queues.wait_event(stream.id, event)?)
    })
}

/// Returns how a stream was created. The default streams have no flags and no priority.
fn origin(handle: Handle) -> Result<(u64, Made)> {
    let process = process()?;
    let stream = process.stream(handle)?;
    let of_cuda = Made { what: What::Stream, context: stream.context, flags: 0, priority: 0 };
    Ok((stream.id.0, process.origin(stream.id.0).unwrap_or(of_cuda)))
}

/// Returns the flags of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetFlags(stream: Handle, to: *mut c_uint) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuStreamGetFlags", || unsafe { put(to, origin(stream)?.1.flags, "the flags") })
}

/// Returns the priority of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetPriority(stream: Handle, to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuStreamGetPriority", || unsafe { put(to, origin(stream)?.1.priority, "the priority") })
}

/// Returns the ID of a stream, which is never reused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetId(stream: Handle, to: *mut c_ulonglong) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuStreamGetId", || unsafe { put(to, origin(stream)?.0, "the number") })
}

/// Returns the context of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCtx(stream: Handle, to: *mut Handle) -> Code {
    call("cuStreamGetCtx", || {
        let context = origin(stream)?.1.context;
        let is_it = |slot: &crate::current::Slot| slot.get().is_some_and(|live| live.id == context.id);
        let Some(handle) = process()?.contexts.find(is_it) else {
            bail!(CONTEXT_IS_DESTROYED, "the stream's context is destroyed");
        };
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, handle, "the context") }
    })
}

/// Returns the device of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetDevice(stream: Handle, to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuStreamGetDevice", || unsafe { put(to, origin(stream)?.1.context.device as c_int, "the device") })
}
