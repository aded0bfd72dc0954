//! Host functions in stream order.

use crate::Code;
use crate::error::{bail, call};
use crate::primary::on_device;
use crate::printed;
use crate::process::process;
use isobit_simgpu_core::queue::CaptureStatus;
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::host::{HostFn, StreamCallback, callback, device_work, meeting_work, work};
use std::ffi::{c_int, c_uint, c_void};

/// Calls a host function on a thread of the stream when all earlier work of the stream is done.
/// Later work of the stream waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(stream: Handle, func: Option<HostFn>, data: *mut c_void) -> Code {
    call("cuLaunchHostFunc", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        printed::before_callback(process, stream.id)?;
        Ok(process.machine.queues.enqueue(stream.id, work::<Code>(func, data)?)?)
    })
}

/// Like [`cuLaunchHostFunc`], for the simulator's own libraries: the function is work of the
/// device, and runs on the thread that enqueues it or waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_enqueue(stream: Handle, func: Option<HostFn>, data: *mut c_void) -> Code {
    call("isobit_sim_enqueue", || {
        let process = process()?;
        let stream = process.stream(stream)?;
        Ok(process.machine.queues.enqueue(stream.id, device_work::<Code>(func, data)?)?)
    })
}

/// Enqueues a function that waits for functions of other devices. It has a thread to itself. The
/// stream must be one of the device; null is the default stream of that device's context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_meet(
    device: c_int,
    stream: Handle,
    func: Option<HostFn>,
    data: *mut c_void,
) -> Code {
    call("isobit_sim_meet", || {
        let process = process()?;
        let device = process.device(device)?;
        let stream = on_device(process, device, || process.stream(stream))?;
        if stream.context.device != device {
            bail!(INVALID_HANDLE, "the stream is not one of device {device}");
        }
        Ok(process.machine.queues.enqueue(stream.id, meeting_work::<Code>(func, data)?)?)
    })
}

/// Has threads do what functions of streams wait for, although nobody waits for those functions.
/// Unlike other calls, it may be made from such a function.
#[unsafe(no_mangle)]
pub extern "C" fn isobit_sim_urge() {
    if let Ok(process) = process() {
        process.machine.queues.urge();
    }
}

/// Calls a host function with the stream and a success code when all earlier work of the stream is
/// done; after a failure the function is not called. Not allowed in a capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamAddCallback(
    handle: Handle,
    func: Option<StreamCallback<Code>>,
    data: *mut c_void,
    flags: c_uint,
) -> Code {
    call("cuStreamAddCallback", || {
        let process = process()?;
        let (stream, queues) = (process.stream(handle)?, &process.machine.queues);
        let work = callback(func, handle, data, flags)?;
        if queues.capture_status(stream.id)?.0 != CaptureStatus::None {
            // Waiting invalidates a capture and returns the error.
            queues.synchronize(stream.id)?;
            bail!(STREAM_CAPTURE_UNSUPPORTED, "callbacks cannot be captured");
        }
        printed::before_callback(process, stream.id)?;
        Ok(queues.enqueue(stream.id, work)?)
    })
}
