//! Failures of work are reported once, in order, to the waiting call; dependent work is skipped.

use super::{MODES, one_device};
use crate::finding::Fault;
use crate::queue::{QueueError, Queues, StreamId, Work};

fn failing(message: &'static str) -> Work {
    Work::new(move || Err(Fault::new(message)))
}

fn message(result: Result<(), QueueError>) -> String {
    match result {
        Err(QueueError::Fault(fault)) => fault.to_string(),
        other => panic!("a fault was expected: {other:?}"),
    }
}

fn two_streams(queues: &Queues) -> [StreamId; 2] {
    [(); 2].map(|()| queues.create_stream(0, false).unwrap())
}

#[test]
fn a_failure_stops_its_stream_until_it_is_told() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let [stream, other] = two_streams(&queues);
        queues.enqueue(stream, failing("first")).unwrap();
        queues.enqueue(stream, log.work(0)).unwrap();
        queues.enqueue(stream, failing("second")).unwrap();
        queues.enqueue(other, log.work(1)).unwrap();
        queues.synchronize(other).unwrap();
        assert_eq!(message(queues.synchronize(stream)), "first", "{mode:?}");
        queues.enqueue(stream, log.work(2)).unwrap();
        assert_eq!(queues.synchronize(stream), Ok(()), "{mode:?}: told once");
        assert_eq!(log.take(), [1, 2], "{mode:?}: what came after the failure on its stream was not done");
    }
}

#[test]
fn whatever_waits_for_failed_work_fails_with_it() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let [a, b] = two_streams(&queues);
        let event = queues.create_event(0).unwrap();
        queues.enqueue(a, failing("on a")).unwrap();
        queues.record(event, a).unwrap();
        queues.wait_event(b, event).unwrap();
        queues.enqueue(b, log.work(0)).unwrap();
        assert_eq!(message(queues.synchronize_event(event)), "on a", "{mode:?}");
        assert_eq!(message(queues.synchronize(b)), "on a", "{mode:?}");
        assert_eq!(message(queues.synchronize(a)), "on a", "{mode:?}");
        assert!(log.take().is_empty());
    }
}

#[test]
fn a_wait_for_the_device_tells_the_first_failure() {
    for mode in MODES {
        let (queues, log) = one_device(mode);
        let [a, b] = two_streams(&queues);
        queues.enqueue(b, failing("on b")).unwrap();
        queues.destroy_stream(b).unwrap();
        queues.enqueue(a, failing("on a")).unwrap();
        let told = message(queues.synchronize_device(0));
        // The latest work runs first if work is deferred.
        assert_eq!(told, if mode == MODES[0] { "on b" } else { "on a" }, "{mode:?}");
        assert_eq!(queues.synchronize_device(0), Ok(()), "{mode:?}");
        queues.enqueue(a, log.work(0)).unwrap();
        queues.synchronize_device(0).unwrap();
        assert_eq!(log.take(), [0]);
    }
}

#[test]
fn a_panic_is_a_failure() {
    let (queues, log) = one_device(MODES[0]);
    let legacy = queues.legacy(0).unwrap();
    queues.enqueue(legacy, Work::new(|| panic!("{} of it", "none"))).unwrap();
    queues.enqueue(legacy, log.work(0)).unwrap();
    assert_eq!(message(queues.synchronize(legacy)), "the simulator panicked: none of it");
    assert!(log.take().is_empty(), "what came after it was not done");
}
