//! Events: points in the work of a stream.

use crate::{DeviceId, Result};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The interface that a driver implements for its events; users call [`Event`].
///
/// ```rust
/// use isobit_hal::{DeviceId, Event, Result, event::EventBackend};
/// use std::sync::Arc;
///
/// /// An event of a device that finishes every operation before it returns.
/// #[derive(Debug)]
/// struct Reached(DeviceId);
///
/// impl EventBackend for Reached {
///     fn device(&self) -> DeviceId { self.0 }
///     fn query(&self) -> Result<bool> { Ok(true) }
///     fn synchronize(&self) -> Result<()> { Ok(()) }
///     fn elapsed_time(&self, _end: &Event) -> Result<f32> { Ok(0.0) }
/// }
/// let event = Event::from_backend(Arc::new(Reached(DeviceId::new())));
/// assert!(event.query()? && event.downcast_ref::<Reached>().is_some());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub trait EventBackend: Any + Send + Sync + fmt::Debug {
    /// Returns the device that the event belongs to.
    fn device(&self) -> DeviceId;

    /// As [`Event::query`].
    ///
    /// # Errors
    /// As [`Event::query`].
    fn query(&self) -> Result<bool>;

    /// As [`Event::synchronize`].
    ///
    /// # Errors
    /// As [`Event::synchronize`].
    fn synchronize(&self) -> Result<()>;

    /// As [`Event::elapsed_time`].
    ///
    /// # Errors
    /// As [`Event::elapsed_time`].
    fn elapsed_time(&self, end: &Event) -> Result<f32>;
}

/// A point in the work of a stream, which [`Stream::record`](crate::Stream::record) sets. Clones
/// are handles to one event.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice};
///
/// let stream = CpuDevice.current_stream()?;
/// let (start, end) = (CpuDevice.new_event()?, CpuDevice.new_event()?);
/// stream.record(&start)?;
/// // ... work to measure ...
/// stream.record(&end)?;
/// assert!(start.elapsed_time(&end)? >= 0.0 && end.query()?);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Event(Arc<dyn EventBackend>);

impl Event {
    /// Wraps a driver's event.
    pub fn from_backend(event: Arc<dyn EventBackend>) -> Self {
        Self(event)
    }

    /// Returns the driver's own event, if it has type `T`.
    pub fn downcast_ref<T: EventBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Returns the device that the event belongs to.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Returns whether the event has been reached; true for an event that was never recorded.
    ///
    /// # Errors
    /// The errors of the work before the event.
    pub fn query(&self) -> Result<bool> {
        self.0.query()
    }

    /// Waits until the event is reached.
    ///
    /// # Errors
    /// The errors of the work before the event; `CaptureViolation` if it was recorded in a capture.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Returns the milliseconds between this event and `end`. Waits until both are reached.
    ///
    /// # Errors
    /// `InvalidArgument` if one of the events was never recorded or belongs to another driver; the
    /// errors of the work.
    pub fn elapsed_time(&self, end: &Event) -> Result<f32> {
        self.0.elapsed_time(end)
    }
}
