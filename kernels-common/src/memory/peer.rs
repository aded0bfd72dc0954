//! Copies of elements from one storage to another, within a device or between two of a driver.

use crate::device::{GpuDevice, OnDevice};
use crate::memory::pinned::{self, GpuPinned};
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use crate::stream::GpuStream;
use crate::stream::dependencies::{Access, with};
use isobit_hal::pinned::PinnedMemory;
use isobit_hal::{BackendDevice, BackendStorage, DType, Result};
use std::ops::Range;

/// Copies a range of a storage's elements to an offset of another of the same dtype. A copy between
/// two devices is ordered on both: it runs on the receiver's stream after all earlier work on the
/// sender's stream, and later work on the sender's stream runs after it.
///
/// # Errors
/// Returns the driver's error, or `CaptureViolation` if the stream of one device is being captured.
pub(crate) fn transfer<R: GpuRuntime>(
    src: &GpuStorage<R>,
    range: Range<usize>,
    dst: &mut GpuStorage<R>,
    offset: usize,
) -> Result<()> {
    let bytes = range.len() * src.dtype().size_in_bytes();
    if bytes == 0 {
        return Ok(());
    }
    let (source, target) = (src.ptr().at(src.dtype(), range.start), dst.ptr().at(dst.dtype(), offset));
    let (from, to) = (src.device(), dst.device());
    let (read, written) = ((src.block(), Access::Read), (dst.block(), Access::Write));
    if from.same_device(to) {
        // SAFETY: both ranges were validated, and two storages do not overlap.
        let copy = |stream: &GpuStream<R>| unsafe { to.runtime().copy_on_device(stream, target, source, bytes) };
        return with(to, &[read, written], copy).on_device(to);
    }
    if !to.can_access_peer(from) {
        return through_host((src, source), (dst, target), bytes);
    }
    for device in [from, to] {
        device.refuse_in_capture(&device.stream(), "a copy between two devices")?;
    }
    with(from, &[read], |sender| {
        with(to, &[written], |receiver| {
            follow(to, receiver, from, sender)?;
            // SAFETY: both ranges were validated, and the receiver's stream waits for the sender's
            // work.
            let copied = unsafe { to.runtime().copy_from_peer(receiver, target, from.runtime(), source, bytes) };
            copied.on_device(to)?;
            follow(from, sender, to, receiver)
        })
    })
}

/// Makes a stream wait for all earlier work on a stream of another device.
fn follow<R: GpuRuntime>(
    device: &GpuDevice<R>,
    stream: &GpuStream<R>,
    other_device: &GpuDevice<R>,
    other: &GpuStream<R>,
) -> Result<()> {
    device.wait_for(stream, &other_device.mark(other)?)
}

/// The size in bytes of each of two pinned buffers: one is filled while the other is emptied.
const STAGE: usize = 4 << 20;

/// Copies `bytes` bytes, each side given by its storage and an address in it, through pinned
/// memory, piece by piece.
fn through_host<R: GpuRuntime>(
    (src, source): (&GpuStorage<R>, DevicePtr),
    (dst, target): (&GpuStorage<R>, DevicePtr),
    bytes: usize,
) -> Result<()> {
    let (from, to) = (src.device(), dst.device());
    for device in [from, to] {
        device.refuse_in_capture(&device.stream(), "a copy between two devices through the host")?;
    }
    let stages =
        [GpuPinned::zeros(from, bytes.min(STAGE))?, GpuPinned::zeros(from, bytes.saturating_sub(STAGE).min(STAGE))?];
    for (stage, start) in stages.iter().cycle().zip((0..bytes).step_by(STAGE)) {
        let len = STAGE.min(bytes - start);
        // SAFETY: the stage has `len` bytes, and so do both ranges from `start` on.
        unsafe {
            pinned::copy_from_device(stage, 0..len, src.block(), source.at(DType::U8, start))?;
            pinned::copy_to_device(stage, 0..len, dst.block(), target.at(DType::U8, start))?;
        }
    }
    // The pinned memory is freed only after it was read.
    stages.iter().try_for_each(|stage| stage.wait(true))
}
