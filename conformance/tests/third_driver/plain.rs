//! Features that the driver does not implement work on it through the HAL's fallbacks: streams,
//! events, graphs, pinned memory.

use super::device::TinyDevice;
use isobit::{
    AnyDevice, BackendDevice, BackendStorage, BinaryOp, DType, ErrorKind, Layout, Result, Shape, Src, UnaryOp,
};
use std::sync::{Arc, Mutex};

/// Runs a step over buffers that stay: uploads on one stream, computes on another, and reads the
/// result back. Returns the result, and its last two elements as copied to pinned memory.
fn step(device: &impl BackendDevice) -> Result<Vec<f32>> {
    let layout = Layout::contiguous(4);
    let (uploads, start, end) = (device.new_stream()?, device.new_event()?, device.new_event()?);
    let mut pinned = device.alloc_pinned(16)?;
    pinned.as_mut_slice::<f32>()?.copy_from_slice(&[0.0, 1.0, -2.0, 0.5]);
    let mut x = device.zeros(&Shape::from(4), DType::F32)?;
    device.with_stream(&uploads, || {
        uploads.record(&start)?;
        x.copy_from_pinned(0, &pinned, 0..16)?;
        uploads.record(&end)
    })?;
    assert!(start.elapsed_time(&end)? >= 0.0);
    device.current_stream()?.wait_event(&end)?;
    let squares = x.unary(&layout, UnaryOp::Sqr)?;

    let data = Arc::new(Mutex::new((x, squares)));
    let shared = data.clone();
    let mut graph = device.capture(move || {
        let (x, squares) = &mut *shared.lock().unwrap();
        BackendStorage::apply_into(
            &isobit::Op::Binary(BinaryOp::Add),
            &[Src::InPlace, Src::Storage(&*x, &Layout::contiguous(4))],
            squares,
            &Layout::contiguous(4),
        )
    })?;
    for _ in 0..3 {
        graph.replay()?;
    }
    data.lock().unwrap().0.write_slice(1, &[100.0f32])?;
    graph.replay()?;
    device.synchronize()?;
    let (_, sums) = &*data.lock().unwrap();
    sums.copy_to_pinned(8, &mut pinned, 0..8)?;
    let mut out = sums.to_vec::<f32>()?;
    out.extend_from_slice(&pinned.as_slice::<f32>()?[..2]);
    Ok(out)
}

#[test]
fn a_step_with_streams_events_and_a_graph_gives_the_same_everywhere() {
    // The squares 0, 1, 4 and 0.25, to which the step adds x four times, the last time with 100 as
    // the second element: all exact.
    let expected = [0.0, 104.0, -4.0, 2.25, -4.0, 2.25];
    let tiny = TinyDevice::new(0).unwrap();
    assert_eq!(step(&tiny).unwrap(), expected);
    assert_eq!(step(&AnyDevice::from_backend(tiny)).unwrap(), expected);
    assert_eq!(step(&AnyDevice::cpu()).unwrap(), expected);
}

#[test]
fn what_it_has_not_it_says_by_name() {
    let device = AnyDevice::from_backend(TinyDevice::new(0).unwrap());
    assert_eq!((device.info().unwrap().limits, device.info().unwrap().capabilities), (None, Default::default()));
    let storage = device.zeros(&Shape::from(1), DType::U8).unwrap();
    // SAFETY: the device refuses the calls.
    let raw = unsafe { [device.stream_from_raw(1).map(drop), device.storage_from_raw(64, 1, DType::U8).map(drop)] };
    let others = [device.get_or_load_func("exp").map(drop), storage.device_ptr().map(drop)];
    for result in raw.into_iter().chain(others) {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedOp);
        assert!(error.message().contains("tiny"), "{error}");
    }
    assert_eq!(device.set_seed(1).unwrap_err().kind(), ErrorKind::UnsupportedOp);
    assert_eq!(device.default_stream().unwrap().id(), device.default_stream().unwrap().id());
    assert!(device.supports_bf16());
    assert_eq!(device.counters(), Default::default());
}
