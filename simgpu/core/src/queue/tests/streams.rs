//! Streams, events and their errors, case by case.

use super::{Log, MODES, one_device};
use crate::queue::{EventId, Mode, QueueError, Queues, StreamId, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn stale_and_foreign_handles_are_errors() {
    let (queues, log) = one_device(Mode::Eager);
    let (stream, event) = (queues.create_stream(0, true).unwrap(), queues.create_event(0).unwrap());
    queues.destroy_stream(stream).unwrap();
    queues.destroy_event(event).unwrap();
    let legacy = queues.legacy(0).unwrap();
    assert_eq!(queues.enqueue(stream, log.work(0)), Err(QueueError::UnknownStream));
    assert_eq!(queues.synchronize(stream), Err(QueueError::UnknownStream));
    assert_eq!(queues.destroy_stream(stream), Err(QueueError::UnknownStream));
    assert_eq!(queues.destroy_stream(legacy), Err(QueueError::UnknownStream), "it stays");
    assert_eq!(queues.record(event, legacy), Err(QueueError::UnknownEvent));
    assert_eq!(queues.wait_event(legacy, EventId(7)), Err(QueueError::UnknownEvent));
    assert_eq!(queues.query(StreamId(legacy.0 + 1000)), Err(QueueError::UnknownStream));
    assert_eq!(queues.create_stream(1, true), Err(QueueError::UnknownDevice));
    assert_eq!(queues.synchronize_device(1), Err(QueueError::UnknownDevice));
    assert!(log.take().is_empty());
}

#[test]
fn events_belong_to_a_device_but_are_waited_for_everywhere() {
    for mode in MODES {
        let (queues, log) = (Queues::new(2, mode), Log::default());
        let event = queues.create_event(0).unwrap();
        let (here, there) = (queues.create_stream(0, false).unwrap(), queues.create_stream(1, false).unwrap());
        assert_eq!(queues.record(event, there), Err(QueueError::OtherDevice));
        queues.enqueue(here, log.work(0)).unwrap();
        queues.record(event, here).unwrap();
        queues.wait_event(there, event).unwrap();
        queues.enqueue(there, log.work(1)).unwrap();
        queues.synchronize(there).unwrap();
        assert_eq!(log.take(), [0, 1], "{mode:?}");
    }
}

#[test]
fn a_wait_means_the_recording_of_its_time() {
    let (queues, log) = one_device(Mode::Needed);
    let [a, b] = [(); 2].map(|()| queues.create_stream(0, false).unwrap());
    let event = queues.create_event(0).unwrap();
    queues.wait_event(b, event).unwrap();
    queues.enqueue(a, log.work(0)).unwrap();
    queues.record(event, a).unwrap();
    queues.wait_event(b, event).unwrap();
    queues.enqueue(a, log.work(1)).unwrap();
    queues.record(event, a).unwrap();
    queues.enqueue(b, log.work(2)).unwrap();
    queues.synchronize(b).unwrap();
    assert_eq!(log.seen(), [0, 2], "the later recording is no wait");
    assert_eq!(queues.query_event(event), Err(QueueError::NotReady));
    queues.destroy_event(event).unwrap();
    queues.synchronize_device(0).unwrap();
    assert_eq!(log.take(), [0, 2, 1]);
}

#[test]
fn queries_get_there_and_times_are_ordered() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let stream = queues.create_stream(0, false).unwrap();
        let [from, to] = [(); 2].map(|()| queues.create_event(0).unwrap());
        assert_eq!(queues.elapsed(from, to), Err(QueueError::NotRecorded));
        queues.record(from, stream).unwrap();
        (0..5).for_each(|item| queues.enqueue(stream, log.work(item)).unwrap());
        queues.record(to, stream).unwrap();
        let mut asked = 0;
        while let Err(error) = queues.query_event(to) {
            assert_eq!(error, QueueError::NotReady);
            asked += 1;
            let early = queues.elapsed(from, to);
            assert_eq!(early.is_err(), asked < 7, "{mode:?}: {early:?} after {asked} questions");
        }
        assert_eq!(asked, if mode == Mode::Eager { 0 } else { 7 }, "{mode:?}: one piece of work for each question");
        assert_eq!(log.take(), [0, 1, 2, 3, 4]);
        let (time, backwards) = queues.elapsed(from, to).unwrap();
        assert!(!backwards, "{mode:?}: {time:?}");
        assert!(queues.elapsed(to, from).unwrap().1, "{mode:?}");
    }
}

#[test]
fn the_work_of_a_destroyed_stream_goes_on() {
    let (queues, log) = one_device(Mode::Latest);
    let (blocking, other) = (queues.create_stream(0, true).unwrap(), queues.create_stream(0, false).unwrap());
    queues.enqueue(blocking, log.work(0)).unwrap();
    queues.enqueue(other, log.work(1)).unwrap();
    queues.destroy_stream(blocking).unwrap();
    queues.destroy_stream(other).unwrap();
    let legacy = queues.legacy(0).unwrap();
    queues.enqueue(legacy, log.work(2)).unwrap();
    queues.synchronize_device(0).unwrap();
    assert_eq!(log.take(), [1, 0, 2], "the legacy stream waits for the blocking one alone");
}

#[test]
fn work_may_not_call_back() {
    let queues = Arc::new(Queues::new(1, Mode::Eager));
    let legacy = queues.legacy(0).unwrap();
    let refused = Arc::new(AtomicBool::new(false));
    let (inner, flag) = (queues.clone(), refused.clone());
    let work = Work::new(move || {
        flag.store(inner.synchronize(legacy) == Err(QueueError::InsideWork), Ordering::Relaxed);
        Ok(())
    });
    queues.enqueue(legacy, work).unwrap();
    assert!(refused.load(Ordering::Relaxed));
    assert_eq!(queues.synchronize(legacy), Ok(()));
}

#[test]
fn threads_share_the_queues() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let streams: Vec<_> = (0..4).map(|_| queues.create_stream(0, false).unwrap()).collect();
        std::thread::scope(|scope| {
            for (t, &stream) in streams.iter().enumerate() {
                let (queues, log) = (&queues, &log);
                scope.spawn(move || {
                    for i in 0..200 {
                        queues.enqueue(stream, log.work(t * 1000 + i)).unwrap();
                        if i % 17 == 0 {
                            queues.synchronize(stream).unwrap();
                            assert!(log.seen().contains(&(t * 1000 + i)));
                        }
                    }
                });
            }
        });
        queues.synchronize_device(0).unwrap();
        let log = log.take();
        for t in 0..4 {
            let mine: Vec<_> = log.iter().copied().filter(|item| item / 1000 == t).collect();
            assert_eq!(mine, (t * 1000..t * 1000 + 200).collect::<Vec<_>>(), "{mode:?}");
        }
    }
}
