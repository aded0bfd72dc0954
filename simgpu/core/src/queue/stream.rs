//! Streams: ordered work, and waiting for it.

use super::capture::CaptureId;
use super::device::Orphan;
use super::event::Record;
use super::host::HostThread;
use super::tasks::TaskId;
use super::{Failure, Mode, QueueError, Queues, State, Work, inside_work};
use std::sync::Arc;

/// A stream's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) device: usize,
    /// Whether the legacy default stream and this one wait for each other.
    blocking: bool,
    /// The last enqueued task, which may have ended.
    pub(super) tail: Option<TaskId>,
    /// A failure that is not yet reported. Until it is, no further work of the stream runs.
    pub(super) failure: Option<Failure>,
    pub(super) capture: Option<CaptureId>,
    /// The thread that calls functions of the host, once there was one.
    pub(super) host: Option<HostThread>,
}

impl Stream {
    pub(super) fn new(device: usize, blocking: bool) -> Self {
        Self { device, blocking, tail: None, failure: None, capture: None, host: None }
    }

    /// Whether the legacy default stream waits for this one.
    pub(super) fn blocks_legacy(&self) -> bool {
        self.blocking
    }

    pub(super) fn poison(&mut self, failure: &Failure) {
        self.failure.get_or_insert_with(|| failure.clone());
    }
}

impl Queues {
    /// Creates a stream. A `blocking` stream and the device's legacy default stream wait for each
    /// other's work.
    ///
    /// # Errors
    /// [`QueueError::UnknownDevice`].
    pub fn create_stream(&self, device: usize, blocking: bool) -> Result<StreamId, QueueError> {
        let mut state = self.state.lock();
        if device >= state.devices.len() {
            return Err(QueueError::UnknownDevice);
        }
        let id = StreamId(state.handle());
        state.streams.insert(id, Stream::new(device, blocking));
        Ok(id)
    }

    /// Destroys a stream. Its work continues. A capture that it is part of becomes invalid.
    ///
    /// # Errors
    /// [`QueueError::UnknownStream`], also for a legacy default stream, which cannot be destroyed.
    pub fn destroy_stream(&self, id: StreamId) -> Result<(), QueueError> {
        let mut state = self.state.lock();
        if state.devices.iter().any(|device| device.legacy == id) {
            return Err(QueueError::UnknownStream);
        }
        let stream = state.streams.remove(&id).ok_or(QueueError::UnknownStream)?;
        if let Some(capture) = stream.capture {
            state.captures.invalidate(capture);
        }
        let State { devices, tasks, .. } = &mut *state;
        let device = &mut devices[stream.device];
        device.orphans.retain(|orphan| tasks.is_pending(orphan.tail));
        if let Some(tail) = stream.tail.filter(|&tail| tasks.is_pending(tail)) {
            device.orphans.push(Orphan { stream: id, tail, blocking: stream.blocking });
        }
        if let Some(failure) = stream.failure {
            device.failure.get_or_insert(failure);
        }
        Ok(())
    }

    /// Returns the device of a stream.
    ///
    /// # Errors
    /// [`QueueError::UnknownStream`].
    pub fn device_of(&self, stream: StreamId) -> Result<usize, QueueError> {
        self.state.lock().stream(stream).map(|stream| stream.device)
    }

    /// Whether the legacy default stream and this one wait for each other.
    ///
    /// # Errors
    /// [`QueueError::UnknownStream`].
    pub fn is_blocking(&self, stream: StreamId) -> Result<bool, QueueError> {
        self.state.lock().stream(stream).map(|stream| stream.blocking)
    }

    /// Enqueues work, or adds it to the capture of the stream.
    ///
    /// # Errors
    /// The errors of captures. A failure of the work is reported by the next call that waits for
    /// it.
    pub fn enqueue(&self, stream: StreamId, work: Work) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut state = self.state.lock();
        if state.captured(stream, &work)? {
            return Ok(());
        }
        let task = state.add(stream, work, None)?;
        self.eagerly(state, task);
        Ok(())
    }

    /// Waits for all work of a stream. For the legacy default stream, also waits for the streams
    /// that it waits for.
    ///
    /// # Errors
    /// Returns the first unreported failure. Fails on a capturing stream, whose capture becomes
    /// invalid.
    pub fn synchronize(&self, id: StreamId) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut state = self.state.lock();
        state.refuse_wait_in_capture(id)?;
        let targets = state.before(id)?.tasks;
        let mut state = self.drive(state, targets, self.mode);
        let failure = state.take_fault(id);
        drop(state);
        self.waited();
        failure.map_or(Ok(()), |failure| Err(QueueError::Fault(failure.fault)))
    }

    /// Checks whether all work of a stream is done. If work is deferred, each call runs one piece
    /// of it, so that polling makes progress.
    ///
    /// # Errors
    /// [`QueueError::NotReady`], and the errors of [`synchronize`](Self::synchronize).
    pub fn query(&self, id: StreamId) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        let mut state = self.state.lock();
        state.refuse_wait_in_capture(id)?;
        let targets = state.before(id)?.tasks;
        if self.advance(state, &targets) {
            return Err(QueueError::NotReady);
        }
        let failure = self.state.lock().take_fault(id);
        failure.map_or(Ok(()), |failure| Err(QueueError::Fault(failure.fault)))
    }

    /// Returns whether one of `targets` is pending. If so, runs one task that they need.
    pub(super) fn advance(&self, state: parking_lot::MutexGuard<'_, State>, targets: &[TaskId]) -> bool {
        if !targets.iter().any(|&task| state.tasks.is_pending(task)) {
            return false;
        }
        if let Some(task) = state.tasks.pick(targets, Mode::Needed) {
            drop(self.run_one(state, task, &mut None));
        }
        true
    }
}

/// The dependencies of a new task of a stream.
pub(super) struct Before {
    pub(super) tasks: Vec<TaskId>,
    failure: Option<Failure>,
}

impl State {
    /// Returns the dependencies of the next task of a stream, from the order of the stream and the
    /// rules of the legacy default stream.
    pub(super) fn before(&self, id: StreamId) -> Result<Before, QueueError> {
        let stream = self.stream(id)?;
        let device = &self.devices[stream.device];
        let mut tasks: Vec<_> = stream.tail.into_iter().collect();
        let mut failure = stream.failure.clone();
        let mut also = |other: &Stream| {
            tasks.extend(other.tail);
            if failure.is_none() {
                failure.clone_from(&other.failure);
            }
        };
        if device.legacy == id {
            self.streams.values().filter(|other| other.device == stream.device && other.blocking).for_each(&mut also);
            tasks.extend(device.orphans.iter().filter(|orphan| orphan.blocking).map(|orphan| orphan.tail));
        } else if stream.blocking {
            also(&self.streams[&device.legacy]);
        }
        tasks.retain(|&task| self.tasks.is_pending(task));
        Ok(Before { tasks, failure })
    }

    /// Adds a task at the end of a stream.
    pub(super) fn add(&mut self, id: StreamId, work: Work, record: Option<Arc<Record>>) -> Result<TaskId, QueueError> {
        self.add_after(id, work, record, Vec::new(), None)
    }

    /// Adds a task at the end of a stream that also waits for other tasks, and inherits a failure
    /// if there is one.
    pub(super) fn add_after(
        &mut self,
        id: StreamId,
        work: Work,
        record: Option<Arc<Record>>,
        mut others: Vec<TaskId>,
        inherited: Option<Failure>,
    ) -> Result<TaskId, QueueError> {
        let before = self.before(id)?;
        others.extend(before.tasks);
        let device = self.stream(id)?.device;
        let task = self.tasks.add(device, id, work, record, others, before.failure.or(inherited));
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.tail = Some(task);
        }
        Ok(task)
    }

    /// Takes the failure that a wait for the stream must report.
    fn take_fault(&mut self, id: StreamId) -> Option<Failure> {
        let stream = self.streams.get_mut(&id)?;
        let (device, mut failure) = (stream.device, stream.failure.take());
        if self.devices[device].legacy == id {
            for other in self.streams.values_mut().filter(|other| other.device == device && other.blocking) {
                failure = Failure::first(failure, other.failure.take());
            }
        }
        failure
    }
}
