//! Events: internal ones that order work and are reused, and those that users record, wait for and
//! use for timing.

use crate::capture::Capture;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::GpuStream;
use crate::stream::dependencies::Point;
use crate::sync::Mutex;
use isobit_hal::event::EventBackend;
use isobit_hal::{DeviceId, Error, ErrorKind, Event, Result};
use std::sync::{Arc, Weak};

/// Ordering events that are currently not in use.
#[derive(Debug)]
pub(crate) struct EventPool<R: GpuRuntime>(Mutex<Vec<R::Event>>);

impl<R: GpuRuntime> EventPool<R> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Returns an event to record. Pending waits for its previous point are not affected: they
    /// refer to the point, not to the event.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn take(self: &Arc<Self>, runtime: &R) -> Result<OrderEvent<R>> {
        let kept = self.0.lock().pop();
        let raw = kept.map_or_else(|| runtime.new_ordering_event(), Ok)?;
        Ok(OrderEvent { raw: Some(raw), pool: Arc::downgrade(self) })
    }
}

/// An event that orders work. It returns to its pool when dropped.
#[derive(Debug)]
pub(crate) struct OrderEvent<R: GpuRuntime> {
    raw: Option<R::Event>,
    pool: Weak<EventPool<R>>,
}

impl<R: GpuRuntime> OrderEvent<R> {
    pub(crate) fn raw(&self) -> &R::Event {
        self.raw.as_ref().expect("it is taken when dropped")
    }
}

impl<R: GpuRuntime> Drop for OrderEvent<R> {
    fn drop(&mut self) {
        if let (Some(raw), Some(pool)) = (self.raw.take(), self.pool.upgrade()) {
            pool.0.lock().push(raw);
        }
    }
}

/// Where a user's event was last recorded.
#[derive(Debug)]
struct Recorded<R: GpuRuntime> {
    /// A point without its own event: the user's event takes its place.
    point: Point<R>,
    /// The capture that the point is part of.
    capture: Option<Weak<Capture<R>>>,
}

/// The implementation of [`Event`] for GPUs.
#[derive(Debug)]
pub(crate) struct GpuEvent<R: GpuRuntime> {
    device: GpuDevice<R>,
    raw: R::Event,
    /// Held while the event is recorded and while a stream starts waiting for it, so that both
    /// refer to the same point.
    recorded: Mutex<Option<Recorded<R>>>,
}

impl<R: GpuRuntime> GpuEvent<R> {
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn event(device: &GpuDevice<R>) -> Result<Event> {
        let raw = device.runtime().new_event().on_device(device)?;
        Ok(Event::from_backend(Arc::new(Self { device: device.clone(), raw, recorded: Mutex::new(None) })))
    }

    pub(crate) fn record(&self, device: &GpuDevice<R>, stream: &GpuStream<R>) -> Result<()> {
        let mut recorded = self.recorded.lock();
        let capture = stream.capture().map(|c| Arc::downgrade(&c));
        let number = stream.next_number();
        device.runtime().record(&self.raw, stream).on_device(device)?;
        *recorded = Some(Recorded { point: Point { stream: stream.id(), number, event: None }, capture });
        Ok(())
    }

    /// Makes a stream of this device, or of another device of the driver, wait for the event.
    pub(crate) fn wait(&self, device: &GpuDevice<R>, stream: &Arc<GpuStream<R>>) -> Result<()> {
        let recorded = self.recorded.lock();
        let Some(Recorded { point, capture }) = &*recorded else { return Ok(()) };
        if stream.has_waited_for(point) && capture.is_none() {
            return Ok(());
        }
        let theirs = match capture {
            Some(capture) => Some(capture.upgrade().ok_or_else(|| self.captured("waiting for an event"))?),
            None => None,
        };
        device.meet_capture(stream, theirs.as_ref())?;
        let waits = device.runtime().wait_event(stream, &self.raw);
        waits.on_device(device)?;
        stream.note_waited(point);
        Ok(())
    }

    #[cold]
    fn captured(&self, asked: &str) -> Error {
        let message = format!(
            "{asked}: the event was last recorded in a capture, where nothing runs, so its point is never reached; record it outside the capture"
        );
        Error::new(ErrorKind::CaptureViolation, message).with_device(self.device.location_of())
    }

    /// Checks that the host can wait for the event's point.
    fn check_host(&self, asked: &str) -> Result<bool> {
        match &*self.recorded.lock() {
            Some(Recorded { capture: Some(_), .. }) => Err(self.captured(asked)),
            recorded => Ok(recorded.is_some()),
        }
    }
}

impl<R: GpuRuntime> EventBackend for GpuEvent<R> {
    fn device(&self) -> DeviceId {
        self.device.device_id()
    }

    fn query(&self) -> Result<bool> {
        let recorded = self.check_host("asking whether an event is reached")?;
        if !recorded {
            return Ok(true);
        }
        self.device.runtime().event_is_done(&self.raw).on_device(&self.device)
    }

    fn synchronize(&self) -> Result<()> {
        if !self.check_host("waiting for an event")? {
            return Ok(());
        }
        self.device.runtime().synchronize_event(&self.raw).on_device(&self.device)
    }

    fn elapsed_time(&self, end: &Event) -> Result<f32> {
        let refused = |message: &str| Error::new(ErrorKind::InvalidArgument, message);
        let end = end
            .downcast_ref::<Self>()
            .ok_or_else(|| refused("the events belong to different drivers and cannot be compared"))?;
        if self.device.device_id() != end.device.device_id() {
            return Err(refused("the events belong to different devices, whose clocks cannot be compared"));
        }
        let asked = "reading the time between two events";
        if !(self.check_host(asked)? && end.check_host(asked)?) {
            return Err(refused("one of the events was never recorded: record both on a stream first"));
        }
        let elapsed = self.device.runtime().elapsed_ms(&self.raw, &end.raw);
        elapsed.on_device(&self.device)
    }
}
