//! Random programs of streams and events, compared with a simple model of the required order.

use super::{Log, MODES, Random};
use crate::queue::{EventId, Mode, Queues, StreamId};
use std::collections::HashSet;

type Set = HashSet<usize>;

/// The documented semantics of streams, as sets of the work that precedes the next work of each
/// stream.
struct Model {
    streams: Vec<Stream>,
    /// `None` before the first recording: waiting for such an event has no effect.
    events: Vec<Option<Set>>,
    precedes: Vec<Set>,
}

struct Stream {
    device: usize,
    legacy: bool,
    blocking: bool,
    done: Set,
}

impl Model {
    fn before(&self, s: usize) -> Set {
        let stream = &self.streams[s];
        let mut set = stream.done.clone();
        for other in self.streams.iter().filter(|other| other.device == stream.device) {
            if (stream.legacy && other.blocking) || (stream.blocking && other.legacy) {
                set.extend(&other.done);
            }
        }
        set
    }

    fn enqueue(&mut self, s: usize) -> usize {
        let mut set = self.before(s);
        let item = self.precedes.len();
        self.precedes.push(set.clone());
        set.insert(item);
        self.streams[s].done = set;
        item
    }
}

fn program(seed: u64, mode: Mode) -> (Vec<usize>, Model) {
    let mut random = Random(seed);
    let (queues, log) = (Queues::new(2, mode), Log::default());
    let mut model = Model { streams: Vec::new(), events: Vec::new(), precedes: Vec::new() };
    let mut streams: Vec<StreamId> = Vec::new();
    let mut events: Vec<EventId> = Vec::new();
    for device in 0..2 {
        for (legacy, blocking) in [(true, true), (false, true), (false, true), (false, false), (false, false)] {
            streams.push(if legacy { queues.legacy(device) } else { queues.create_stream(device, blocking) }.unwrap());
            model.streams.push(Stream { device, legacy, blocking: blocking && !legacy, done: Set::new() });
        }
        for _ in 0..3 {
            events.push(queues.create_event(device).unwrap());
            model.events.push(None);
        }
    }
    for _ in 0..120 {
        let (s, e) = (random.below(streams.len()), random.below(events.len()));
        match random.below(10) {
            0..5 => {
                let item = model.enqueue(s);
                queues.enqueue(streams[s], log.work(item)).unwrap();
            }
            5..7 if queues.event_device(events[e]) == queues.device_of(streams[s]) => {
                let set = model.before(s);
                model.streams[s].done = set.clone();
                model.events[e] = Some(set);
                queues.record(events[e], streams[s]).unwrap();
            }
            7..9 => {
                if let Some(event) = &model.events[e] {
                    model.streams[s].done = model.before(s).union(event).copied().collect();
                }
                queues.wait_event(streams[s], events[e]).unwrap();
            }
            9 => {
                let (waited, what) = match random.below(4) {
                    0 => {
                        queues.synchronize_event(events[e]).unwrap();
                        (model.events[e].clone().unwrap_or_default(), "event")
                    }
                    1 => {
                        while queues.query(streams[s]).is_err() {}
                        (model.before(s), "query")
                    }
                    _ => {
                        queues.synchronize(streams[s]).unwrap();
                        (model.before(s), "stream")
                    }
                };
                let seen: Set = log.seen().into_iter().collect();
                assert!(waited.is_subset(&seen), "{mode:?} seed {seed}: work undone after waiting for the {what}");
            }
            _ => {}
        }
    }
    for device in 0..2 {
        queues.synchronize_device(device).unwrap();
    }
    (log.take(), model)
}

#[test]
fn every_order_is_one_that_streams_and_events_allow() {
    let mut overtaken = [0; 3];
    for seed in 0..400 {
        for (mode, overtaken) in MODES.into_iter().zip(&mut overtaken) {
            let (log, model) = program(seed, mode);
            assert_eq!(log.len(), model.precedes.len(), "{mode:?} seed {seed}: all work is done, once");
            let mut done = Set::new();
            for (at, &item) in log.iter().enumerate() {
                let missing: Vec<_> = model.precedes[item].difference(&done).collect();
                assert!(missing.is_empty(), "{mode:?} seed {seed}: {item} came before {missing:?}, which precede it");
                assert!(done.insert(item), "{mode:?} seed {seed}: {item} was done twice");
                *overtaken += usize::from(log[..at].iter().any(|&earlier| earlier > item));
            }
        }
    }
    assert_eq!(overtaken[0], 0, "eager work is done in the order of the program");
    assert!(overtaken[1] > 10_000, "work that nothing orders is overtaken: {overtaken:?}");
    assert!(overtaken[2] > 1_000, "work that nobody waits for is left: {overtaken:?}");
}

#[test]
fn deferred_work_is_overtaken_by_work_that_forgot_to_wait() {
    for mode in [Mode::Latest, Mode::Needed] {
        for wait in [false, true] {
            let (queues, log) = (Queues::new(1, mode), Log::default());
            let [writer, reader] = [(); 2].map(|()| queues.create_stream(0, false).unwrap());
            let written = queues.create_event(0).unwrap();
            queues.enqueue(writer, log.work(0)).unwrap();
            queues.record(written, writer).unwrap();
            if wait {
                queues.wait_event(reader, written).unwrap();
            }
            queues.enqueue(reader, log.work(1)).unwrap();
            assert!(log.seen().is_empty(), "nothing is done before something waits");
            queues.synchronize(reader).unwrap();
            queues.synchronize(writer).unwrap();
            assert_eq!(log.take(), if wait { [0, 1] } else { [1, 0] }, "{mode:?}, waiting: {wait}");
        }
    }
}
