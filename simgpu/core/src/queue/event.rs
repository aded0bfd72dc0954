//! Events: points in a stream that others can wait for.

use super::capture::CaptureId;
use super::tasks::TaskId;
use super::{Failure, QueueError, Queues, StreamId, Work, inside_work};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// An event's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

#[derive(Debug)]
pub(super) struct Event {
    device: usize,
    last: Last,
}

/// The last recording of an event.
#[derive(Debug, Clone)]
enum Last {
    Never,
    Task(TaskId, Arc<Record>),
    /// The nodes of a capture that a waiter depends on.
    Captured(CaptureId, Vec<usize>),
}

/// One recording of an event.
#[derive(Debug, Default)]
pub(super) struct Record(OnceLock<(Instant, Option<Failure>)>);

impl Record {
    pub(super) fn happened(&self, outcome: Result<(), Failure>) {
        self.0.get_or_init(|| (Instant::now(), outcome.err()));
    }

    fn fault(&self) -> Option<Failure> {
        self.0.get().and_then(|(_, failure)| failure.clone())
    }
}

impl Queues {
    /// Creates an event of a device.
    ///
    /// # Errors
    /// [`QueueError::UnknownDevice`].
    pub fn create_event(&self, device: usize) -> Result<EventId, QueueError> {
        let mut state = self.state.lock();
        if device >= state.devices.len() {
            return Err(QueueError::UnknownDevice);
        }
        let id = EventId(state.handle());
        state.events.insert(id, Event { device, last: Last::Never });
        Ok(id)
    }

    /// Destroys an event. Work that waits for its last recording keeps waiting.
    ///
    /// # Errors
    /// [`QueueError::UnknownEvent`].
    pub fn destroy_event(&self, event: EventId) -> Result<(), QueueError> {
        self.state.lock().events.remove(&event).map(drop).ok_or(QueueError::UnknownEvent)
    }

    /// Records the event: it happens when all current work of the stream is done. In a capture it
    /// marks the position in the graph.
    ///
    /// # Errors
    /// [`QueueError::OtherDevice`], and the errors of captures.
    pub fn record(&self, event: EventId, stream: StreamId) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut state = self.state.lock();
        let device = state.events.get(&event).ok_or(QueueError::UnknownEvent)?.device;
        if state.stream(stream)?.device != device {
            return Err(QueueError::OtherDevice);
        }
        if let Some(capture) = state.capturing(stream)? {
            let frontier = state.captures.frontier(capture, stream);
            state.events.insert(event, Event { device, last: Last::Captured(capture, frontier) });
            return Ok(());
        }
        let record = Arc::new(Record::default());
        let task = state.add(stream, Work::nothing(), Some(record.clone()))?;
        state.events.insert(event, Event { device, last: Last::Task(task, record) });
        self.eagerly(state, task);
        Ok(())
    }

    /// Makes all later work of the stream wait for the event's last recording. Does nothing if the
    /// event was never recorded. A stream that waits for an event of a capture joins the capture.
    ///
    /// # Errors
    /// The errors of captures.
    pub fn wait_event(&self, stream: StreamId, event: EventId) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut state = self.state.lock();
        let last = state.events.get(&event).ok_or(QueueError::UnknownEvent)?.last.clone();
        let capturing = state.capturing(stream)?;
        match (last, capturing) {
            (Last::Never, _) => Ok(()),
            (Last::Captured(capture, nodes), _) => state.join_capture(stream, capture, nodes),
            (Last::Task(..), Some(capture)) => {
                state.captures.invalidate(capture);
                Err(QueueError::CaptureIsolation)
            }
            (Last::Task(task, record), None) => {
                let task = state.add_after(stream, Work::nothing(), None, vec![task], record.fault())?;
                self.eagerly(state, task);
                Ok(())
            }
        }
    }

    /// Waits until the event's last recording has happened. Returns at once if the event was never
    /// recorded.
    ///
    /// # Errors
    /// The failure of earlier work; [`QueueError::CapturedEvent`].
    pub fn synchronize_event(&self, event: EventId) -> Result<(), QueueError> {
        let Some((task, record)) = self.recorded(event)? else { return Ok(()) };
        drop(self.drive(self.state.lock(), vec![task], self.mode));
        self.waited();
        record.fault().map_or(Ok(()), |failure| Err(QueueError::Fault(failure.fault)))
    }

    /// Checks whether the event's last recording has happened. If work is deferred, each call runs
    /// one piece of it.
    ///
    /// # Errors
    /// [`QueueError::NotReady`], and the errors of [`synchronize_event`](Self::synchronize_event).
    pub fn query_event(&self, event: EventId) -> Result<(), QueueError> {
        let Some((task, record)) = self.recorded(event)? else { return Ok(()) };
        if self.advance(self.state.lock(), &[task]) {
            return Err(QueueError::NotReady);
        }
        record.fault().map_or(Ok(()), |failure| Err(QueueError::Fault(failure.fault)))
    }

    /// Returns the time between the last recordings of two events. It is the host's time; the flag
    /// is true if it is negative, that is, if the second event happened first.
    ///
    /// # Errors
    /// [`QueueError::NotRecorded`], [`QueueError::NotReady`] if one has not happened,
    /// [`QueueError::OtherDevice`], [`QueueError::CapturedEvent`].
    pub fn elapsed(&self, from: EventId, to: EventId) -> Result<(Duration, bool), QueueError> {
        let devices = {
            let state = self.state.lock();
            [from, to].map(|event| state.events.get(&event).map(|event| event.device))
        };
        if let [Some(a), Some(b)] = devices
            && a != b
        {
            return Err(QueueError::OtherDevice);
        }
        let (_, from) = self.recorded(from)?.ok_or(QueueError::NotRecorded)?;
        let (_, to) = self.recorded(to)?.ok_or(QueueError::NotRecorded)?;
        match (from.0.get(), to.0.get()) {
            (Some((a, _)), Some((b, _))) if a <= b => Ok((*b - *a, false)),
            (Some((a, _)), Some((b, _))) => Ok((*a - *b, true)),
            _ => Err(QueueError::NotReady),
        }
    }

    /// Returns the last recording of an event, if there is one.
    fn recorded(&self, event: EventId) -> Result<Option<(TaskId, Arc<Record>)>, QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        match &self.state.lock().events.get(&event).ok_or(QueueError::UnknownEvent)?.last {
            Last::Never => Ok(None),
            Last::Task(task, record) => Ok(Some((*task, record.clone()))),
            Last::Captured(..) => Err(QueueError::CapturedEvent),
        }
    }

    /// Returns the device of an event.
    ///
    /// # Errors
    /// [`QueueError::UnknownEvent`].
    pub fn event_device(&self, event: EventId) -> Result<usize, QueueError> {
        self.state.lock().events.get(&event).map(|event| event.device).ok_or(QueueError::UnknownEvent)
    }

    /// Waits for all pending work of a device, if one is given, and for the work of other devices,
    /// which may use its memory. It does not wait for meetings of other devices, nor for what is
    /// behind them: the caller may be about to enqueue what they wait for. Failures are reported by
    /// later calls.
    ///
    /// # Errors
    /// [`QueueError::InsideWork`].
    pub fn drain(&self, device: Option<usize>) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let state = self.state.lock();
        let targets = state.tasks.to_drain(device);
        drop(self.drive(state, targets, self.mode));
        self.waited();
        Ok(())
    }
}
