//! Stream capture.

use crate::Code;
use crate::error::{Result, bail, call, put, put_if_wanted, read};
use crate::process::process;
use isobit_simgpu_core::queue::exchange_capture_mode;
use isobit_simgpu_runtime_common::capture::{mode, status};
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_ulonglong, c_void};

/// Starts capturing a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: Handle, capture_mode: c_int) -> Code {
    call("cuStreamBeginCapture_v2", || {
        let (process, mode) = (process()?, mode::<Code>(capture_mode)?);
        Ok(process.machine.queues.begin_capture(process.stream(stream)?.id, mode)?)
    })
}

/// Ends the capture of a stream; the graph is null if the capture failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) -> Code {
    call("cuStreamEndCapture", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(graph, std::ptr::null_mut(), "the graph") }?;
        let process = process()?;
        let captured = process.machine.queues.end_capture(process.stream(stream)?.id)?;
        // SAFETY: as above.
        unsafe { put(graph, process.graphs.insert(captured), "the graph") }
    })
}

fn state(stream: Handle) -> Result<(c_int, u64)> {
    let process = process()?;
    status(&process.machine, process.stream(stream)?.id)
}

/// Whether a stream is capturing: 0 no, 1 yes, 2 yes, but the capture is invalidated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: Handle, to: *mut c_int) -> Code {
    // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
    call("cuStreamIsCapturing", || unsafe { put(to, state(stream)?.0, "the status") })
}

/// The optional outputs of a capture query.
struct Wanted {
    status: *mut c_int,
    number: *mut c_ulonglong,
    /// The graph, the dependencies of the next node, and the data of those edges.
    parts: [*mut c_void; 3],
    count: *mut usize,
}

fn info(stream: Handle, wanted: &Wanted) -> Result {
    let (status, number) = state(stream)?;
    if status == 1 && (wanted.parts.iter().any(|part| !part.is_null()) || !wanted.count.is_null()) {
        bail!(NOT_SUPPORTED, "the graph is not available before the end of its capture");
    }
    // SAFETY: the caller of CUDA promises room for the requested outputs.
    unsafe {
        put_if_wanted(wanted.number, number);
        put(wanted.status, status, "the status")
    }
}

/// Whether a stream is capturing, and the ID of the capture. The graph is not available before the
/// capture ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCaptureInfo_v2(
    stream: Handle,
    status: *mut c_int,
    number: *mut c_ulonglong,
    graph: *mut Handle,
    after: *mut *const Handle,
    count: *mut usize,
) -> Code {
    let parts = [graph.cast(), after.cast(), std::ptr::null_mut()];
    call("cuStreamGetCaptureInfo_v2", || info(stream, &Wanted { status, number, parts, count }))
}

/// Like [`cuStreamGetCaptureInfo_v2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCaptureInfo_v3(
    stream: Handle,
    status: *mut c_int,
    number: *mut c_ulonglong,
    graph: *mut Handle,
    after: *mut *const Handle,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Code {
    let parts = [graph.cast(), after.cast(), edges.cast()];
    call("cuStreamGetCaptureInfo_v3", || info(stream, &Wanted { status, number, parts, count }))
}

/// Exchanges the calling thread's capture mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(to: *mut c_int) -> Code {
    call("cuThreadExchangeStreamCaptureMode", || {
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        let old = exchange_capture_mode(mode::<Code>(unsafe { read(to, "the mode") }?)?);
        // SAFETY: as above.
        unsafe { put(to, old as c_int, "the mode") }
    })
}
