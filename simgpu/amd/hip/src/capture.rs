//! Stream capture.

use crate::Code;
use crate::error::{Result, call, put, put_if_wanted, read};
use crate::process::process;
use isobit_simgpu_core::queue::exchange_capture_mode;
use isobit_simgpu_runtime_common::capture::{mode, status};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_ulonglong};

/// Begins the capture of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamBeginCapture(stream: Handle, capture_mode: c_int) -> Code {
    call("hipStreamBeginCapture", || {
        let (process, mode) = (process()?, mode::<Code>(capture_mode)?);
        Ok(process.machine.queues.begin_capture(process.stream(stream)?, mode)?)
    })
}

/// Ends the capture of a stream. If the capture failed, writes a null graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamEndCapture(stream: Handle, graph: *mut Handle) -> Code {
    call("hipStreamEndCapture", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(graph, std::ptr::null_mut(), "the graph") }?;
        let process = process()?;
        let captured = process.machine.queues.end_capture(process.stream(stream)?)?;
        // SAFETY: as above.
        unsafe { put(graph, process.graphs.insert(captured), "the graph") }
    })
}

fn state(stream: Handle) -> Result<(c_int, u64)> {
    let process = process()?;
    status(&process.machine, process.stream(stream)?)
}

/// Writes whether a stream is capturing: 0 no, 1 yes, 2 yes, but the capture is invalidated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamIsCapturing(stream: Handle, to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("hipStreamIsCapturing", || unsafe { put(to, state(stream)?.0, "the status") })
}

/// Writes whether a stream is capturing, and the number of the capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetCaptureInfo(stream: Handle, to: *mut c_int, number: *mut c_ulonglong) -> Code {
    call("hipStreamGetCaptureInfo", || {
        let (status, id) = state(stream)?;
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe {
            put_if_wanted(number, id);
            put(to, status, "the status")
        }
    })
}

/// Exchanges the calling thread's capture mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipThreadExchangeStreamCaptureMode(to: *mut c_int) -> Code {
    call("hipThreadExchangeStreamCaptureMode", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let old = exchange_capture_mode(mode::<Code>(unsafe { read(to, "the mode") }?)?);
        // SAFETY: as above.
        unsafe { put(to, old as c_int, "the mode") }
    })
}
