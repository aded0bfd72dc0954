//! Tests streams, events, graphs and pinned memory on a device with a single order of work: the
//! host.

use crate::elsewhere::Elsewhere;
use isobit_hal::event::EventBackend;
use isobit_hal::{
    BackendDevice, BackendStorage, CpuDevice, DType, DeviceId, ErrorKind, Event, Layout, Result, Shape, UnaryOp,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const CPU: CpuDevice = CpuDevice;

/// An event of another driver.
#[derive(Debug)]
struct Foreign(DeviceId);

impl EventBackend for Foreign {
    fn device(&self) -> DeviceId {
        self.0
    }

    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Result<()> {
        Err(isobit_hal::Error::new(ErrorKind::DeviceLost, "the other device is gone"))
    }

    fn elapsed_time(&self, _end: &Event) -> Result<f32> {
        Ok(0.0)
    }
}

#[test]
fn the_default_stream_is_one_and_forks_are_others() {
    let default = CPU.default_stream().unwrap();
    assert_eq!(default.id(), CPU.default_stream().unwrap().id());
    assert_eq!((default.device(), default.raw()), (CPU.id(), 0));
    let (new, fork) = (CPU.new_stream().unwrap(), default.fork().unwrap());
    assert!(new.id() != default.id() && fork.id() != default.id() && new.id() != fork.id());
    for stream in [&default, &new, &fork] {
        stream.synchronize().unwrap();
        assert!(stream.query().unwrap());
        new.join(stream).unwrap();
    }
}

#[test]
fn a_thread_works_on_the_stream_it_entered_and_returns_to_the_one_before() {
    let current = || CPU.current_stream().unwrap().id();
    let default = current();
    let (a, b) = (CPU.new_stream().unwrap(), CPU.new_stream().unwrap());
    CPU.with_stream(&a, || {
        assert_eq!(current(), a.id());
        CPU.with_stream(&b, || {
            assert_eq!(current(), b.id());
            std::thread::scope(|s| s.spawn(|| assert_eq!(current(), default)).join().unwrap());
            Ok(())
        })?;
        assert_eq!(current(), a.id());
        Ok(())
    })
    .unwrap();
    assert_eq!(current(), default);
    // The stream is also left if the work fails, and in whatever order guards are dropped.
    let failed = CPU.with_stream(&a, || CPU.storage_from_bytes(DType::F32, &[0; 3]));
    assert_eq!((failed.unwrap_err().kind(), current()), (ErrorKind::InvalidArgument, default));
    let (outer, inner) = (CPU.enter_stream(&a).unwrap(), CPU.enter_stream(&b).unwrap());
    drop(outer);
    assert_eq!(current(), b.id());
    drop(inner);
    assert_eq!(current(), default);
}

#[test]
fn events_measure_the_time_between_the_points_they_were_recorded_at() {
    let stream = CPU.default_stream().unwrap();
    let (start, end) = (CPU.new_event().unwrap(), CPU.new_event().unwrap());
    assert!(start.query().unwrap(), "an event that was never recorded counts as reached");
    start.synchronize().unwrap();
    stream.wait_event(&start).unwrap();
    let error = start.elapsed_time(&end).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("never recorded"), "{error}");

    let begin = Instant::now();
    stream.record(&start).unwrap();
    assert_eq!(start.elapsed_time(&end).unwrap_err().kind(), ErrorKind::InvalidArgument);
    std::thread::sleep(Duration::from_millis(20));
    stream.record(&end).unwrap();
    let longest = begin.elapsed().as_secs_f32() * 1e3;
    let elapsed = start.elapsed_time(&end).unwrap();
    assert!((20.0..=longest).contains(&elapsed), "{elapsed} of {longest} ms");
    assert_eq!(end.elapsed_time(&start).unwrap(), -elapsed);
    // Recording it again moves it to the later point.
    stream.record(&start).unwrap();
    assert!(start.elapsed_time(&end).unwrap() <= 0.0);
}

#[test]
fn events_of_others_are_told_from_its_own() {
    let stream = CPU.default_stream().unwrap();
    let own = CPU.new_event().unwrap();
    stream.record(&own).unwrap();
    let disguised = Event::from_backend(Arc::new(Foreign(CPU.id())));
    assert_eq!(stream.record(&disguised).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(own.elapsed_time(&disguised).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let elsewhere = Event::from_backend(Arc::new(Foreign(DeviceId::new())));
    assert_eq!(stream.record(&elsewhere).unwrap_err().kind(), ErrorKind::DeviceMismatch);
    // Waiting for it waits for the other device and returns that device's errors.
    assert_eq!(stream.wait_event(&elsewhere).unwrap_err().kind(), ErrorKind::DeviceLost);
}

#[test]
fn streams_of_another_device_are_refused() {
    let theirs = Elsewhere::new(0).unwrap().default_stream().unwrap();
    assert_ne!(theirs.id(), CPU.default_stream().unwrap().id());
    let errors = [CPU.enter_stream(&theirs).unwrap_err(), CPU.default_stream().unwrap().join(&theirs).unwrap_err()];
    assert_eq!(errors.map(|e| e.kind()), [ErrorKind::DeviceMismatch; 2]);
    assert_eq!(CPU.current_stream().unwrap().device(), CPU.id());
}

#[test]
fn a_graph_does_the_step_when_it_is_replayed() {
    let data = Arc::new(Mutex::new(CPU.storage_from_slice(&[2.0f32, 3.0]).unwrap()));
    let (shared, calls) = (data.clone(), Arc::new(AtomicU32::new(0)));
    let counted = calls.clone();
    let mut graph = CPU
        .capture(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let layout = Layout::contiguous(2);
            let mut data = shared.lock().unwrap();
            let squares = data.unary(&layout, UnaryOp::Sqr)?;
            squares.copy_strided_src(&mut data, 0, &layout)
        })
        .unwrap();
    assert_eq!(data.lock().unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0], "a capture executes nothing");
    graph.replay().unwrap();
    graph.update().unwrap();
    graph.replay().unwrap();
    assert_eq!(data.lock().unwrap().to_vec::<f32>().unwrap(), [16.0, 81.0]);
    data.lock().unwrap().write_slice(1, &[5.0f32]).unwrap();
    graph.replay().unwrap();
    assert_eq!(data.lock().unwrap().to_vec::<f32>().unwrap(), [256.0, 25.0]);
    assert_eq!((calls.load(Ordering::Relaxed), graph.node_count()), (3, 0));

    let mut failing = CPU.capture(|| CPU.storage_from_bytes(DType::F32, &[0; 3]).map(drop)).unwrap();
    assert_eq!(failing.replay().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn pinned_memory_is_zeros_aligned_and_copied_at_once() {
    let mut pinned = CPU.alloc_pinned(100).unwrap();
    assert_eq!((pinned.len(), pinned.as_ptr().as_ptr() as usize % 64), (100, 0));
    assert_eq!(pinned.bytes().unwrap(), [0; 100]);
    assert_eq!(pinned.as_slice::<i64>().unwrap().len(), 12, "a partial element at the end is not shown");
    pinned.as_mut_slice::<f32>().unwrap()[1..4].copy_from_slice(&[1.5, -2.0, 7.0]);

    let mut storage = CPU.zeros(&Shape::from(5), DType::F32).unwrap();
    storage.copy_from_pinned(8, &pinned, 4..16).unwrap();
    pinned.bytes_mut().unwrap().fill(0xff);
    assert_eq!(storage.to_vec::<f32>().unwrap(), [0.0, 0.0, 1.5, -2.0, 7.0]);
    storage.copy_to_pinned(12, &mut pinned, 92..100).unwrap();
    assert_eq!(pinned.as_slice::<f32>().unwrap()[23..], [-2.0, 7.0]);
    assert_eq!(pinned.bytes().unwrap()[91], 0xff);

    let wrong = [
        storage.copy_from_pinned(0, &pinned, 96..104),
        storage.copy_from_pinned(12, &pinned, 0..12),
        storage.copy_to_pinned(2, &mut pinned, 0..4),
        storage.copy_to_pinned(0, &mut pinned, 0..3),
        storage.copy_to_pinned(usize::MAX - 3, &mut pinned, 0..4),
    ];
    for result in wrong {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert!(CPU.alloc_pinned(0).unwrap().bytes().unwrap().is_empty());
    assert_eq!(CPU.alloc_pinned(usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn what_the_host_has_not_it_says() {
    let info = CPU.info().unwrap();
    assert_eq!((info.compute_capability, info.limits, info.capabilities), (None, None, Default::default()));
    // SAFETY: the calls return an error before they access memory.
    let refused = unsafe { [CPU.stream_from_raw(1).map(drop), CPU.storage_from_raw(64, 1, DType::U8).map(drop)] };
    for error in refused.map(Result::unwrap_err).into_iter().chain([CPU.get_or_load_func("add_f32").unwrap_err()]) {
        assert_eq!(error.kind(), ErrorKind::UnsupportedOp);
        assert!(error.message().contains("cpu"), "{error}");
    }
    assert!(CPU.supports_bf16() && CPU.is_event_tracking() && CPU.can_access_peer(&CPU));
    assert_eq!((CPU.pool_stats(), CPU.counters()), Default::default());
    CPU.set_memory_limit(0);
    CPU.trim(0);
    assert!(CPU.zeros(&Shape::from(8), DType::U8).is_ok(), "a device without a pool has no limit");
}

#[test]
fn bytes_are_read_and_written_in_place() {
    let mut storage = CPU.storage_from_slice(&[1u32, 2, 3, 4]).unwrap();
    let place = storage.device_ptr().unwrap();
    storage.write_bytes(4, bytemuck::cast_slice(&[7u32, 8])).unwrap();
    let mut two = [0u32; 2];
    storage.read_slice(2, &mut two).unwrap();
    assert_eq!((two, storage.device_ptr().unwrap()), ([8, 4], place));
    // SAFETY: these are the storage's own four elements, which nothing writes meanwhile.
    assert_eq!(unsafe { std::slice::from_raw_parts(place as *const u32, 4) }, [1, 7, 8, 4]);
    for result in [
        storage.write_bytes(2, &[0; 4]),
        storage.write_bytes(0, &[0; 3]),
        storage.write_slice(3, &[0u32; 2]),
        storage.read_bytes(16, &mut [0; 4]),
        storage.read_slice(usize::MAX / 2, &mut two),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    storage.write_bytes(16, &[]).unwrap();
    assert_eq!(storage.write_slice(0, &[1.0f32]).unwrap_err().kind(), ErrorKind::UnsupportedDtype);
    assert_eq!(storage.to_vec::<u32>().unwrap(), [1, 7, 8, 4], "a failed call writes nothing");
}

#[test]
fn a_transfer_is_whole_or_refused() {
    let src = CPU.storage_from_slice(&[1i16, -2, 3]).unwrap();
    let copy = src.to_device(&CPU).unwrap();
    assert_eq!(copy.to_vec::<i16>().unwrap(), [1, -2, 3]);
    let mut longer = CPU.zeros(&Shape::from(4), DType::I16).unwrap();
    let mut other = CPU.zeros(&Shape::from(3), DType::I32).unwrap();
    assert_eq!(src.transfer_into(&mut longer).unwrap_err().kind(), ErrorKind::ShapeMismatch);
    assert_eq!(src.transfer_into(&mut other).unwrap_err().kind(), ErrorKind::UnsupportedDtype);
}

#[test]
fn a_transfer_of_a_range_stays_inside_both() {
    let src = CPU.storage_from_slice(&[1i16, -2, 3]).unwrap();
    let mut dst = CPU.zeros(&Shape::from(2), DType::I16).unwrap();
    src.transfer_range_into(1..3, &mut dst, 0).unwrap();
    src.transfer_range_into(0..1, &mut dst, 1).unwrap();
    src.transfer_range_into(3..3, &mut dst, 2).unwrap();
    assert_eq!(dst.to_vec::<i16>().unwrap(), [-2, 1]);
    // A reversed range is among the bad ones on purpose.
    #[allow(clippy::reversed_empty_ranges)]
    let bad = [(2..4, 0), (1..3, 1), (0..1, 2), (2..1, 0), (0..1, usize::MAX), (3..4, 0)];
    for (range, offset) in bad {
        let error = src.transfer_range_into(range.clone(), &mut dst, offset).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{range:?} to {offset}: {error}");
    }
    let mut other = CPU.zeros(&Shape::from(3), DType::U8).unwrap();
    assert_eq!(src.transfer_range_into(0..1, &mut other, 0).unwrap_err().kind(), ErrorKind::UnsupportedDtype);
    assert_eq!(dst.to_vec::<i16>().unwrap(), [-2, 1]);
}
