//! Events: points in the work of a stream.

use crate::{DeviceId, Result};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What a driver implements for its events; users call [`Event`].
pub trait EventBackend: Any + Send + Sync + fmt::Debug {
    /// The device it belongs to.
    fn device(&self) -> DeviceId;

    /// As [`Event::query`].
    ///
    /// # Errors
    /// As there.
    fn query(&self) -> Result<bool>;

    /// As [`Event::synchronize`].
    ///
    /// # Errors
    /// As there.
    fn synchronize(&self) -> Result<()>;

    /// As [`Event::elapsed_time`].
    ///
    /// # Errors
    /// As there.
    fn elapsed_time(&self, end: &Event) -> Result<f32>;
}

/// A point in the work of a stream, once [`Stream::record`](crate::Stream::record) has marked it.
/// Clones are handles to one event.
#[derive(Debug, Clone)]
pub struct Event(Arc<dyn EventBackend>);

impl Event {
    /// A driver's event.
    pub fn from_backend(event: Arc<dyn EventBackend>) -> Self {
        Self(event)
    }

    /// The driver's own event, where it is of that type.
    pub fn downcast_ref<T: EventBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The device it belongs to.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Whether its point is reached; true for an event that was never recorded.
    ///
    /// # Errors
    /// Those of the work before it.
    pub fn query(&self) -> Result<bool> {
        self.0.query()
    }

    /// Waits until its point is reached.
    ///
    /// # Errors
    /// Those of the work before it; `CaptureViolation` where it was recorded in a capture.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Milliseconds from this event's point to that of another, for which it waits.
    ///
    /// # Errors
    /// `InvalidArgument` where one was never recorded or is of another driver; those of the work.
    pub fn elapsed_time(&self, end: &Event) -> Result<f32> {
        self.0.elapsed_time(end)
    }
}
