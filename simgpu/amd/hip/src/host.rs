//! Host functions in stream order.

use crate::Code;
use crate::error::{bail, call};
use crate::process::{on_device, process};
use isobit_simgpu_runtime_common::handles::Handle;
use isobit_simgpu_runtime_common::host::{HostFn, StreamCallback, callback, device_work, meeting_work, work};
use std::ffi::{c_int, c_uint, c_void};

/// Calls a function on a thread of the stream when the preceding work is done. Later work of the
/// stream waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipLaunchHostFunc(stream: Handle, func: Option<HostFn>, data: *mut c_void) -> Code {
    call("hipLaunchHostFunc", || {
        let process = process()?;
        Ok(process.machine.queues.enqueue(process.stream(stream)?, work::<Code>(func, data)?)?)
    })
}

/// Like [`hipLaunchHostFunc`], for the simulator's own libraries: the function is work of the
/// device, and runs on the thread that enqueues it or waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isobit_sim_enqueue(stream: Handle, func: Option<HostFn>, data: *mut c_void) -> Code {
    call("isobit_sim_enqueue", || {
        let process = process()?;
        Ok(process.machine.queues.enqueue(process.stream(stream)?, device_work::<Code>(func, data)?)?)
    })
}

/// Enqueues a function that waits for functions of other devices. It has a thread to itself. The
/// stream must be one of the device; null is that device's default stream.
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
        let (queues, stream) = (&process.machine.queues, on_device(device, || process.stream(stream))?);
        if queues.device_of(stream)? != device {
            bail!(INVALID_HANDLE, "the stream is not one of device {device}");
        }
        Ok(queues.enqueue(stream, meeting_work::<Code>(func, data)?)?)
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

/// Calls a function with the stream and a success code when the preceding work is done. After a
/// failure it is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamAddCallback(
    stream: Handle,
    func: Option<StreamCallback<Code>>,
    data: *mut c_void,
    flags: c_uint,
) -> Code {
    call("hipStreamAddCallback", || {
        let work = callback(func, stream, data, flags)?;
        let process = process()?;
        Ok(process.machine.queues.enqueue(process.stream(stream)?, work)?)
    })
}
