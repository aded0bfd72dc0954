//! Work that waits for work of other streams, such as the parts of a collective. If it were in the
//! way of what it waits for, these tests would fail after a time.

use super::{Log, MODES, one_device};
use crate::finding::Fault;
use crate::queue::{Graph, GraphExec, Mode, Queues, StreamId, Work};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Where a number of parts wait for each other.
#[derive(Default)]
struct Place {
    came: Mutex<usize>,
    changed: Condvar,
}

/// Returns a part that waits until `parts` have come and meanwhile urges the queues.
fn part(queues: &Arc<Queues>, place: &Arc<Place>, parts: usize) -> Work {
    let (queues, place) = (queues.clone(), place.clone());
    Work::meeting(move || {
        let start = Instant::now();
        *place.came.lock() += 1;
        place.changed.notify_all();
        loop {
            queues.urge();
            let mut came = place.came.lock();
            if *came >= parts {
                return Ok(());
            }
            if start.elapsed() > Duration::from_secs(20) {
                return Err(Fault::new("the other parts do not come"));
            }
            place.changed.wait_for(&mut came, Duration::from_millis(2));
        }
    })
}

fn streams(queues: &Queues) -> [StreamId; 3] {
    [(); 3].map(|()| queues.create_stream(0, false).unwrap())
}

fn shared(mode: Mode) -> (Arc<Queues>, Log) {
    let (queues, log) = one_device(mode);
    (Arc::new(queues), log)
}

#[test]
fn a_wait_for_one_part_has_the_others_done() {
    for mode in MODES {
        for waits_for in 0..3 {
            let ((queues, log), place) = (shared(mode), Arc::default());
            let streams = streams(&queues);
            for (number, &stream) in streams.iter().enumerate() {
                queues.enqueue(stream, log.work(number)).unwrap();
                queues.enqueue(stream, part(&queues, &place, 3)).unwrap();
            }
            queues.synchronize(streams[waits_for]).unwrap();
            let mut before = log.take();
            before.sort_unstable();
            assert_eq!(before, [0, 1, 2], "{mode:?}: what the parts wait for is done");
        }
    }
}

#[test]
fn parts_that_are_enqueued_while_one_waits_are_done() {
    for mode in MODES {
        let ((queues, log), place) = (shared(mode), Arc::default());
        let [first, second, _] = streams(&queues);
        queues.enqueue(first, part(&queues, &place, 2)).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| queues.synchronize(first));
            thread::sleep(Duration::from_millis(30));
            queues.enqueue(second, log.work(7)).unwrap();
            // Nobody waits for the second stream.
            queues.enqueue(second, part(&queues, &place, 2)).unwrap();
            assert_eq!(waiting.join().unwrap(), Ok(()), "{mode:?}");
        });
        assert_eq!(log.take(), [7], "{mode:?}");
    }
}

#[test]
fn the_parts_of_one_graph_meet() {
    for mode in MODES {
        let ((queues, log), place) = (shared(mode), Arc::default());
        let mut graph = Graph::default();
        let parts = [(); 2].map(|()| graph.add(part(&queues, &place, 2), &[]).unwrap());
        graph.add(log.work(1), &parts).unwrap();
        let [stream, ..] = streams(&queues);
        queues.launch_graph(&GraphExec::new(&graph), stream).unwrap();
        queues.synchronize(stream).unwrap();
        assert_eq!(log.take(), [1], "{mode:?}");
    }
}

#[test]
fn memory_of_another_device_is_freed_without_a_wait_for_a_part() {
    for mode in MODES {
        let ((queues, log), place) = (shared(mode), Arc::default());
        let other = queues.add_device();
        let waits = queues.create_stream(0, false).unwrap();
        let [works, own] = [0, other].map(|device| queues.create_stream(device, false).unwrap());
        queues.enqueue(waits, part(&queues, &place, 2)).unwrap();
        queues.enqueue(waits, log.work(9)).unwrap();
        queues.enqueue(works, log.work(1)).unwrap();
        queues.enqueue(own, log.work(1)).unwrap();
        queues.drain(Some(other)).unwrap();
        assert_eq!(log.take(), [1, 1], "{mode:?}: neither the part nor what is behind it");
        queues.enqueue(own, part(&queues, &place, 2)).unwrap();
        queues.drain(Some(0)).unwrap();
        assert_eq!(log.take(), [9], "{mode:?}: of its own device it waits for everything");
    }
}
