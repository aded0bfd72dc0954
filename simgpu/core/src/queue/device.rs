//! State shared by the streams of one device: the legacy default stream, and the remains of
//! destroyed streams.

use super::tasks::TaskId;
use super::{Failure, QueueError, Queues, StreamId, inside_work};

#[derive(Debug)]
pub(super) struct Device {
    pub(super) legacy: StreamId,
    /// Destroyed streams, with their last task; their work continues.
    pub(super) orphans: Vec<Orphan>,
    /// The unreported failure of a destroyed stream.
    pub(super) failure: Option<Failure>,
}

#[derive(Debug)]
pub(super) struct Orphan {
    pub(super) stream: StreamId,
    pub(super) tail: TaskId,
    /// The legacy default stream waits for it.
    pub(super) blocking: bool,
}

impl Device {
    pub(super) fn new(legacy: StreamId) -> Self {
        Self { legacy, orphans: Vec::new(), failure: None }
    }

    /// Keeps the failure of a destroyed stream if it belonged to this device.
    pub(super) fn poison_orphan(&mut self, stream: StreamId, failure: &Failure) {
        if self.orphans.iter().any(|orphan| orphan.stream == stream) {
            self.failure.get_or_insert_with(|| failure.clone());
        }
    }
}

impl Queues {
    /// Adds a device with its legacy default stream, and returns its number. Vendors whose streams
    /// belong to contexts have one device per context.
    pub fn add_device(&self) -> usize {
        let mut state = self.state.lock();
        state.add_device()
    }

    /// Returns the legacy default stream of a device.
    ///
    /// # Errors
    /// [`QueueError::UnknownDevice`].
    pub fn legacy(&self, device: usize) -> Result<StreamId, QueueError> {
        self.state.lock().devices.get(device).map(|device| device.legacy).ok_or(QueueError::UnknownDevice)
    }

    /// Waits for all work of a device.
    ///
    /// # Errors
    /// Returns the first unreported failure. Captures forbid the call.
    pub fn synchronize_device(&self, device: usize) -> Result<(), QueueError> {
        if inside_work() {
            return Err(QueueError::InsideWork);
        }
        self.refuse_in_capture()?;
        let state = self.state.lock();
        if device >= state.devices.len() {
            return Err(QueueError::UnknownDevice);
        }
        let targets = state.tasks.of_device(device);
        let mut state = self.drive(state, targets, self.mode);
        let mut failure = state.devices[device].failure.take();
        for stream in state.streams.values_mut().filter(|stream| stream.device == device) {
            failure = Failure::first(failure, stream.failure.take());
        }
        drop(state);
        self.waited();
        failure.map_or(Ok(()), |failure| Err(QueueError::Fault(failure.fault)))
    }
}
