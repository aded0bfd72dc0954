//! Capturing streams.

use crate::Code;
use crate::error::{Result, bail, call, put};
use crate::graph::GraphHandle;
use crate::handles::Handle;
use crate::process::process;
use isobit_simgpu_core::queue::{CaptureMode, CaptureStatus, exchange_capture_mode};
use std::ffi::{c_int, c_ulonglong};
use std::sync::Arc;

/// `hipStreamCaptureMode`.
fn mode(mode: c_int) -> Result<CaptureMode> {
    Ok(match mode {
        0 => CaptureMode::Global,
        1 => CaptureMode::ThreadLocal,
        2 => CaptureMode::Relaxed,
        _ => bail!(INVALID_VALUE, "{mode} is no capture mode"),
    })
}

/// Begins to capture a stream.
#[unsafe(no_mangle)]
pub extern "C" fn hipStreamBeginCapture(stream: Handle, capture_mode: c_int) -> Code {
    call("hipStreamBeginCapture", || {
        let (process, mode) = (process()?, mode(capture_mode)?);
        Ok(process.queues.begin_capture(process.stream(stream)?, mode)?)
    })
}

/// Ends the capture of a stream; the graph is null where it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamEndCapture(stream: Handle, graph: *mut Handle) -> Code {
    call("hipStreamEndCapture", || {
        // SAFETY: the caller's promise.
        unsafe { put(graph, std::ptr::null_mut(), "the graph") }?;
        let process = process()?;
        let captured = process.queues.end_capture(process.stream(stream)?)?;
        let handle = process.graphs.add(Arc::new(GraphHandle::new(captured)));
        // SAFETY: as above.
        unsafe { put(graph, handle, "the graph") }
    })
}

fn status(stream: Handle) -> Result<(c_int, u64)> {
    let process = process()?;
    let (status, number) = process.queues.capture_status(process.stream(stream)?)?;
    let status = match status {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    };
    Ok((status, number))
}

/// Whether a stream captures: 0 no, 1 yes, 2 yes, but the capture is spoilt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamIsCapturing(stream: Handle, to: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    call("hipStreamIsCapturing", || unsafe { put(to, status(stream)?.0, "the status") })
}

/// Whether a stream captures, and the number of the capture.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamGetCaptureInfo(stream: Handle, to: *mut c_int, number: *mut c_ulonglong) -> Code {
    call("hipStreamGetCaptureInfo", || {
        let (status, id) = status(stream)?;
        if !number.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(number, id, "the number") }?;
        }
        // SAFETY: the caller's promise.
        unsafe { put(to, status, "the status") }
    })
}

/// Exchanges the calling thread's capture mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipThreadExchangeStreamCaptureMode(to: *mut c_int) -> Code {
    call("hipThreadExchangeStreamCaptureMode", || {
        if to.is_null() {
            bail!(INVALID_VALUE, "the pointer to the mode is null");
        }
        // SAFETY: not null, and the caller's promise.
        let old = exchange_capture_mode(mode(unsafe { to.read_unaligned() })?);
        // SAFETY: as above.
        unsafe { put(to, old as c_int, "the mode") }
    })
}
