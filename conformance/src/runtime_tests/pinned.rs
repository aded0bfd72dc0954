//! `device.pinned`: copies between storages and pinned host memory, while the host continues and
//! changes the copied data.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::perform;
use crate::case::format_of;
use crate::compare::bits_at;
use isobit_hal::{BackendDevice, BackendStorage, DType, ErrorKind, PinnedBuffer, Stream};
use std::ops::Range;

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let mut mirror = Mirror::draw(case)?;
    let streams = case.streams(1, 3)?;
    let size = case.between(1, 3 * 8 * mirror.shape.side * mirror.shape.side);
    let mut pinned = case.device.alloc_pinned(size)?;
    ensure!((pinned.len(), pinned.is_empty()) == (size, false), "a pinned buffer of {size} bytes has another size");
    ensure!(
        pinned.as_ptr().as_ptr().addr().is_multiple_of(64),
        "pinned memory is not aligned to 64 bytes: it begins at {:?}",
        pinned.as_ptr()
    );
    ensure!(pinned.bytes()?.iter().all(|&b| b == 0), "new pinned memory is not zero");
    let mut expected = vec![0; size];
    for _ in 0..case.between(4, 9) {
        let on = case.between(0, streams.len() - 1);
        match case.between(0, 3) {
            0 => change(case, &mut pinned, &mut expected)?,
            1 => copy_in(case, &mut mirror, &pinned, &expected, on, &streams)?,
            2 => copy_out(case, &mirror, &mut pinned, &mut expected, on, &streams)?,
            _ => {
                let step = program::draw(case, &mirror, Steps::ANY);
                case.say(format_args!("on stream {on}: {step}"));
                case.device.with_stream(&streams[on], || perform(case.device, &step, &mut mirror.buffers))?;
                mirror.expect(&step)?;
            }
        }
        if case.draw.chance(30) {
            ensure!(pinned.bytes()? == expected, "a pinned buffer does not contain the data that was copied to it");
        }
    }
    ensure!(pinned.bytes()? == expected, "a pinned buffer does not contain the data that was copied to it");
    refused(case, &mut mirror, &mut pinned)?;
    if case.draw.chance(50) {
        // The buffer is dropped while a copy from it may still run.
        copy_in(case, &mut mirror, &pinned, &expected, 0, &streams)?;
        drop(pinned);
    }
    mirror.check()
}

/// The host writes the buffer immediately after copies from it.
fn change<D: BackendDevice>(case: &mut Case<'_, D>, pinned: &mut PinnedBuffer, expected: &mut [u8]) -> Checked {
    let by = case.between(1, 250);
    case.say("the host writes the pinned buffer");
    // Bytes that are not a NaN in any float dtype.
    expected.iter_mut().enumerate().for_each(|(i, b)| *b = (i * by % 61) as u8);
    pinned.bytes_mut()?.copy_from_slice(expected);
    Ok(())
}

/// Draws a buffer's number, a byte offset in it, and a range of pinned bytes that fits there.
fn range<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &Mirror<D>, pinned: usize) -> (usize, usize, Range<usize>) {
    let i = case.between(0, mirror.shape.dtypes.len() - 1);
    let element = mirror.shape.dtypes[i].size_in_bytes();
    let len = mirror.shape.side * mirror.shape.side;
    let from = case.between(0, len);
    let most = (len - from).min(pinned / element);
    let bytes = case.between(0, most) * element;
    let start = case.between(0, pinned - bytes);
    (i, from * element, start..start + bytes)
}

fn copy_in<D: BackendDevice>(
    case: &mut Case<'_, D>,
    mirror: &mut Mirror<D>,
    pinned: &PinnedBuffer,
    bytes: &[u8],
    on: usize,
    streams: &[Stream],
) -> Checked {
    let (i, offset, range) = range(case, mirror, bytes.len());
    case.say(format_args!("on stream {on}: pinned bytes {range:?} into buffer {i} from byte {offset}"));
    let buffer = mirror.buffers[i].as_mut().expect("the buffers of a case are made");
    case.device.with_stream(&streams[on], || buffer.copy_from_pinned(offset, pinned, range.clone()))?;
    let expected = mirror.expected[i].as_mut().expect("the buffers of a case are made");
    Ok(expected.write_bytes(offset, &bytes[range])?)
}

fn copy_out<D: BackendDevice>(
    case: &mut Case<'_, D>,
    mirror: &Mirror<D>,
    pinned: &mut PinnedBuffer,
    bytes: &mut [u8],
    on: usize,
    streams: &[Stream],
) -> Checked {
    let (i, offset, range) = range(case, mirror, bytes.len());
    let (Some(buffer), Some(expected)) = (&mirror.buffers[i], &mirror.expected[i]) else { return Ok(()) };
    let taken = &expected.as_bytes()[offset..][..range.len()];
    // A device may produce any NaN, and a copy preserves its bits.
    if holds_nan(mirror.shape.dtypes[i], taken) {
        return Ok(());
    }
    case.say(format_args!("on stream {on}: buffer {i} from byte {offset} into pinned bytes {range:?}"));
    case.device.with_stream(&streams[on], || buffer.copy_to_pinned(offset, pinned, range.clone()))?;
    bytes[range].copy_from_slice(taken);
    Ok(())
}

fn holds_nan(dtype: DType, bytes: &[u8]) -> bool {
    let count = bytes.len() / dtype.size_in_bytes();
    format_of(dtype).is_some_and(|f| (0..count).any(|i| f.is_nan(bits_at(dtype, bytes, i))))
}

fn refused<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &mut Mirror<D>, pinned: &mut PinnedBuffer) -> Checked {
    let size = pinned.len();
    let buffer = mirror.buffers[0].as_mut().expect("the buffers of a case are made");
    fails(buffer.copy_from_pinned(0, pinned, 0..size + 1), ErrorKind::InvalidArgument, &["pinned", &size.to_string()])?;
    fails(buffer.copy_to_pinned(0, pinned, size + 1..size + 1), ErrorKind::InvalidArgument, &["pinned"])?;
    if size > 0 {
        let reversed = Range { start: size, end: size - 1 };
        fails(buffer.copy_from_pinned(0, pinned, reversed.clone()), ErrorKind::InvalidArgument, &["pinned"])?;
        fails(buffer.copy_to_pinned(0, pinned, reversed), ErrorKind::InvalidArgument, &["pinned"])?;
    }
    let bytes = buffer.len() * buffer.dtype().size_in_bytes();
    let element = buffer.dtype().size_in_bytes();
    if size >= element {
        fails(buffer.copy_from_pinned(bytes, pinned, 0..element), ErrorKind::InvalidArgument, &["elements"])?;
        fails(buffer.copy_to_pinned(bytes, pinned, 0..element), ErrorKind::InvalidArgument, &["elements"])?;
    }
    let empty = case.device.alloc_pinned(0)?;
    ensure!(empty.is_empty() && empty.bytes()?.is_empty(), "a pinned buffer of zero bytes is not empty");
    buffer.copy_from_pinned(bytes, &empty, 0..0)?;
    Ok(())
}
