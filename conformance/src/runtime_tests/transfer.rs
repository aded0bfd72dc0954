//! `device.transfer`: storages that are copied to another device or another instance of this one,
//! and through the host, in order with the work on both.

use super::case::{Case, Checked, ensure, fails};
use super::mirror::Mirror;
use super::program::{self, Steps};
use super::step::{equal, perform};
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, ErrorKind, Layout, Shape};

pub(super) fn run<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let another = case.another();
    let mut mirror = Mirror::draw(case)?;
    let streams = case.streams(1, 3)?;
    let theirs = [another.default_stream()?, another.new_stream()?];
    ensure!(case.device.can_access_peer(case.device), "a device cannot access its own storages");
    let whole = Shape::from([mirror.shape.side, mirror.shape.side]);
    let mut copies = Vec::new();
    for _ in 0..case.between(2, 4) {
        // The copied data is still being computed, and is overwritten as soon as the copy is
        // issued.
        some_steps(case, &mut mirror, &streams)?;
        let i = case.between(0, mirror.shape.dtypes.len() - 1);
        let dtype = mirror.shape.dtypes[i];
        let (there, here) = (case.between(0, 1), case.between(0, streams.len() - 1));
        let (Some(buffer), Some(expected)) = (&mirror.buffers[i], &mirror.expected[i]) else { continue };
        case.said.push(format!("buffer {i} to the other device, from stream {here} to its stream {there}"));
        let stream = &streams[here];
        let copy = another.with_stream(&theirs[there], || {
            case.device.with_stream(stream, || match case.said.len() % 2 {
                0 => buffer.to_device(another),
                _ => {
                    // Work on the destination comes first.
                    let mut copy = another.zeros(&whole, dtype)?;
                    buffer.transfer_into(&mut copy)?;
                    Ok(copy)
                }
            })
        })?;
        ensure!(copy.device().same_device(another), "the copy for another device is not on that device");
        copies.push((copy, expected.as_bytes().to_vec(), dtype));
        some_steps(case, &mut mirror, &streams)?;
    }
    mirror.check()?;
    for (n, (copy, expected, dtype)) in copies.iter().enumerate() {
        let layout = Layout::contiguous([copy.len()]);
        // Used there before it is copied back.
        let used = copy.binary(&layout, copy, &layout, BinaryOp::Maximum)?;
        equal(&format!("copy {n}"), *dtype, expected, used.to_cpu_storage()?.as_bytes())?;
        let back = copy.to_device(case.device)?;
        equal(&format!("copy {n}, back again"), *dtype, expected, back.to_cpu_storage()?.as_bytes())?;
    }
    through_the_host(case, &mirror)?;
    refused(case)
}

fn some_steps<D: BackendDevice>(
    case: &mut Case<'_, D>,
    mirror: &mut Mirror<D>,
    streams: &[isobit_hal::Stream],
) -> Checked {
    for _ in 0..case.between(1, 3) {
        let (on, step) = (case.between(0, streams.len() - 1), program::draw(case, mirror, Steps::ANY));
        case.say(format_args!("on stream {on}: {step}"));
        case.device.with_stream(&streams[on], || perform(case.device, &step, &mut mirror.buffers))?;
        mirror.expect(&step)?;
    }
    Ok(())
}

/// Copies to the CPU and back as bytes.
fn through_the_host<D: BackendDevice>(case: &mut Case<'_, D>, mirror: &Mirror<D>) -> Checked {
    let i = case.between(0, mirror.shape.dtypes.len() - 1);
    let Some(buffer) = &mirror.buffers[i] else { return Ok(()) };
    let host = buffer.to_cpu_storage()?;
    let again = case.another().storage_from_cpu_storage(&host)?;
    let bytes = again.to_cpu_storage()?;
    ensure!(bytes.as_bytes() == host.as_bytes(), "a storage made from a CPU storage has other bytes");
    let cpu = CpuDevice.storage_from_bytes(host.dtype(), bytes.as_bytes())?;
    ensure!(cpu.as_bytes() == host.as_bytes(), "a CPU storage made from bytes has other bytes");
    Ok(())
}

fn refused<D: BackendDevice>(case: &mut Case<'_, D>) -> Checked {
    let make = |device: &D, n: usize, dtype| device.zeros(&n.into(), dtype);
    let mut dst = make(case.another(), 6, DType::F32)?;
    let src = make(case.device, 6, DType::F16)?;
    fails(src.transfer_into(&mut dst), ErrorKind::UnsupportedDtype, &["f16", "f32"])?;
    let src = make(case.device, 5, DType::F32)?;
    fails(src.transfer_into(&mut dst), ErrorKind::ShapeMismatch, &["5", "6"])?;
    if case.has_another() {
        let layout = Layout::contiguous([5]);
        let mixed = src.binary(&layout, &dst, &layout, BinaryOp::Add);
        fails(mixed, ErrorKind::DeviceMismatch, &["different devices", "add"])?;
    }
    Ok(())
}
