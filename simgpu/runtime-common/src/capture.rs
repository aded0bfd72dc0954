//! The numbers of capture modes and states, which are the same for both vendors.

use crate::error::Result;
use crate::{Machine, ResultCode, bail};
use isobit_simgpu_core::queue::{CaptureMode, CaptureStatus, StreamId};
use std::ffi::c_int;

/// Returns the mode of a number.
///
/// # Errors
/// Fails if no mode has this number.
pub fn mode<C: ResultCode>(number: c_int) -> Result<CaptureMode, C> {
    Ok(match number {
        0 => CaptureMode::Global,
        1 => CaptureMode::ThreadLocal,
        2 => CaptureMode::Relaxed,
        _ => bail!(C, INVALID_VALUE, "{number} is not a capture mode"),
    })
}

/// Returns whether a stream is capturing (0: no, 1: yes, 2: yes, but the capture is invalidated),
/// and the number of the capture.
///
/// # Errors
/// Fails if there is no such stream.
pub fn status<C: ResultCode>(machine: &Machine, stream: StreamId) -> Result<(c_int, u64), C> {
    let (status, number) = machine.queues.capture_status(stream)?;
    let status = match status {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    };
    Ok((status, number))
}
