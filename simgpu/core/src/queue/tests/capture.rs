//! Capture: what it records, what it refuses, and what invalidates it.

use super::{MODES, one_device};
use crate::queue::{CaptureMode, CaptureStatus, GraphExec, Mode, QueueError, exchange_capture_mode};

#[test]
fn forked_and_joined_streams_become_one_graph() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let [a, b] = [(); 2].map(|()| queues.create_stream(0, false).unwrap());
        let [fork, join] = [(); 2].map(|()| queues.create_event(0).unwrap());
        queues.begin_capture(a, CaptureMode::Global).unwrap();
        queues.enqueue(a, log.work(0)).unwrap();
        queues.record(fork, a).unwrap();
        queues.wait_event(b, fork).unwrap();
        assert_eq!(queues.capture_status(b).unwrap().0, CaptureStatus::Active);
        queues.enqueue(b, log.work(1)).unwrap();
        queues.enqueue(a, log.work(2)).unwrap();
        queues.record(join, b).unwrap();
        queues.wait_event(a, join).unwrap();
        queues.enqueue(a, log.work(3)).unwrap();
        assert_eq!(queues.end_capture(b).unwrap_err(), QueueError::CaptureUnmatched);
        let graph = queues.end_capture(a).unwrap();
        assert_eq!(queues.capture_status(b).unwrap().0, CaptureStatus::None);
        let after: Vec<_> = (0..4).map(|node| graph.after(node).unwrap().to_vec()).collect();
        assert_eq!(after, [vec![], vec![0], vec![0], vec![2, 1]]);
        queues.synchronize_device(0).unwrap();
        assert!(log.seen().is_empty(), "capturing does nothing");
        queues.launch_graph(&GraphExec::new(&graph), b).unwrap();
        queues.synchronize(b).unwrap();
        let log = log.take();
        assert!(log == [0, 1, 2, 3] || log == [0, 2, 1, 3], "{mode:?}: {log:?}");
    }
}

#[test]
fn an_unjoined_stream_is_refused_and_the_capture_is_over() {
    let (queues, log) = one_device(Mode::Eager);
    let [a, b] = [(); 2].map(|()| queues.create_stream(0, false).unwrap());
    let fork = queues.create_event(0).unwrap();
    queues.begin_capture(a, CaptureMode::Global).unwrap();
    queues.record(fork, a).unwrap();
    queues.wait_event(b, fork).unwrap();
    queues.enqueue(b, log.work(0)).unwrap();
    assert_eq!(queues.end_capture(a).unwrap_err(), QueueError::CaptureUnjoined);
    assert_eq!(queues.end_capture(a).unwrap_err(), QueueError::IllegalState);
    queues.enqueue(b, log.work(1)).unwrap();
    assert_eq!(log.take(), [1]);
}

#[test]
fn what_waits_or_crosses_the_border_spoils_a_capture() {
    let (queues, log) = one_device(Mode::Eager);
    let [a, b, blocking] = [false, false, true].map(|blocking| queues.create_stream(0, blocking).unwrap());
    let [inside, outside] = [(); 2].map(|()| queues.create_event(0).unwrap());
    let legacy = queues.legacy(0).unwrap();
    queues.record(outside, b).unwrap();
    assert_eq!(queues.begin_capture(legacy, CaptureMode::Global), Err(QueueError::CaptureUnsupported));

    let spoilt = |stream, spoil: &dyn Fn() -> Result<(), QueueError>, error: QueueError| {
        queues.begin_capture(stream, CaptureMode::Global).unwrap();
        assert_eq!(queues.begin_capture(stream, CaptureMode::Global), Err(QueueError::IllegalState));
        queues.enqueue(stream, log.work(0)).unwrap();
        assert_eq!(spoil(), Err(error.clone()));
        assert_eq!(queues.capture_status(stream).unwrap().0, CaptureStatus::Invalidated, "by {error}");
        assert_eq!(queues.enqueue(stream, log.work(0)), Err(QueueError::CaptureInvalidated));
        assert_eq!(queues.end_capture(stream).unwrap_err(), QueueError::CaptureInvalidated);
        assert_eq!(queues.capture_status(stream).unwrap().0, CaptureStatus::None);
    };
    spoilt(a, &|| queues.synchronize(a), QueueError::CaptureUnsupported);
    spoilt(a, &|| queues.query(a), QueueError::CaptureUnsupported);
    spoilt(a, &|| queues.synchronize_device(0), QueueError::CaptureUnsupported);
    spoilt(a, &|| queues.refuse_in_capture(), QueueError::CaptureUnsupported);
    spoilt(a, &|| queues.wait_event(a, outside), QueueError::CaptureIsolation);
    spoilt(blocking, &|| queues.enqueue(legacy, log.work(0)), QueueError::CaptureImplicit);

    queues.begin_capture(a, CaptureMode::Relaxed).unwrap();
    queues.record(inside, a).unwrap();
    assert_eq!(queues.query_event(inside), Err(QueueError::CapturedEvent));
    assert_eq!(queues.synchronize_event(inside), Err(QueueError::CapturedEvent));
    assert_eq!(queues.refuse_in_capture(), Ok(()), "a relaxed capture forbids nothing");
    queues.begin_capture(b, CaptureMode::Relaxed).unwrap();
    assert_eq!(queues.wait_event(b, inside), Err(QueueError::CaptureMerge));
    assert_eq!(queues.end_capture(a).unwrap_err(), QueueError::CaptureInvalidated);
    assert_eq!(queues.end_capture(b).unwrap_err(), QueueError::CaptureInvalidated);
    assert!(log.take().is_empty());
}

#[test]
fn modes_say_which_threads_are_restricted() {
    let (queues, _) = one_device(Mode::Eager);
    let stream = queues.create_stream(0, false).unwrap();
    let elsewhere = |mode| {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    exchange_capture_mode(mode);
                    queues.refuse_in_capture()
                })
                .join()
                .unwrap()
        })
    };
    queues.begin_capture(stream, CaptureMode::Global).unwrap();
    assert_eq!(elsewhere(CaptureMode::ThreadLocal), Ok(()));
    assert_eq!(elsewhere(CaptureMode::Relaxed), Ok(()));
    let wrong = std::thread::scope(|scope| scope.spawn(|| queues.end_capture(stream).map(drop)).join().unwrap());
    assert_eq!(wrong, Err(QueueError::CaptureWrongThread));
    assert_eq!(elsewhere(CaptureMode::Global), Err(QueueError::CaptureUnsupported));
    assert_eq!(queues.end_capture(stream).unwrap_err(), QueueError::CaptureInvalidated);

    queues.begin_capture(stream, CaptureMode::ThreadLocal).unwrap();
    assert_eq!(elsewhere(CaptureMode::Global), Ok(()));
    assert_eq!(exchange_capture_mode(CaptureMode::Relaxed), CaptureMode::Global);
    assert_eq!(queues.refuse_in_capture(), Ok(()));
    assert_eq!(exchange_capture_mode(CaptureMode::Global), CaptureMode::Relaxed);
    assert_eq!(queues.refuse_in_capture(), Err(QueueError::CaptureUnsupported));
    assert_eq!(queues.end_capture(stream).unwrap_err(), QueueError::CaptureInvalidated);
}

#[test]
fn a_graph_launched_in_a_capture_becomes_part_of_it() {
    let (queues, log) = one_device(Mode::Latest);
    let stream = queues.create_stream(0, false).unwrap();
    queues.begin_capture(stream, CaptureMode::Global).unwrap();
    queues.enqueue(stream, log.work(1)).unwrap();
    queues.enqueue(stream, log.work(2)).unwrap();
    let inner = GraphExec::new(&queues.end_capture(stream).unwrap());
    queues.begin_capture(stream, CaptureMode::Global).unwrap();
    queues.enqueue(stream, log.work(0)).unwrap();
    queues.launch_graph(&inner, stream).unwrap();
    queues.enqueue(stream, log.work(3)).unwrap();
    let outer = GraphExec::new(&queues.end_capture(stream).unwrap());
    queues.launch_graph(&outer, stream).unwrap();
    queues.synchronize(stream).unwrap();
    assert_eq!(log.take(), [0, 1, 2, 3]);
}
