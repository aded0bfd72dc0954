//! Events: those that order work, which are used again and again, and those that users record, wait
//! for and time with.

use crate::capture::Capture;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::GpuStream;
use crate::stream::dependencies::Point;
use isobit_hal::event::EventBackend;
use isobit_hal::{DeviceId, Error, ErrorKind, Event, Result};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Ordering events that nothing refers to at present.
#[derive(Debug)]
pub(crate) struct EventPool<R: GpuRuntime>(Mutex<Vec<R::Event>>);

impl<R: GpuRuntime> EventPool<R> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// An event to record. That waits for its last point may still be pending does no harm: they
    /// mean the point, not the event.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn take(self: &Arc<Self>, runtime: &R) -> Result<OrderEvent<R>> {
        let kept = self.0.lock().pop();
        let raw = kept.map_or_else(|| runtime.new_ordering_event(), Ok)?;
        Ok(OrderEvent { raw: Some(raw), pool: Arc::downgrade(self) })
    }
}

/// An event that orders work; it goes back to its pool when dropped.
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

/// Where an event of a user's was recorded last.
#[derive(Debug)]
struct Recorded<R: GpuRuntime> {
    /// Without an event of its own: this one is it.
    point: Point<R>,
    /// The capture that it is part of.
    capture: Option<Weak<Capture<R>>>,
}

/// What an [`Event`] of a GPU is.
#[derive(Debug)]
pub(crate) struct GpuEvent<R: GpuRuntime> {
    device: GpuDevice<R>,
    raw: R::Event,
    /// Held while the event is recorded and while a stream is told to wait for it, so that both
    /// mean one point.
    recorded: Mutex<Option<Recorded<R>>>,
}

impl<R: GpuRuntime> GpuEvent<R> {
    /// # Errors
    /// Those of the driver.
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

    /// Has a stream of this or another device of the driver wait.
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

    /// Its point can be asked about by the host.
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
            .ok_or_else(|| refused("the two events are of different drivers: there is no time between them"))?;
        if self.device.device_id() != end.device.device_id() {
            return Err(refused("the two events are of different devices, whose clocks do not compare"));
        }
        let asked = "reading the time between two events";
        if !(self.check_host(asked)? && end.check_host(asked)?) {
            return Err(refused(
                "an event was never recorded, so there is no time between the two: record both on a stream first",
            ));
        }
        let elapsed = self.device.runtime().elapsed_ms(&self.raw, &end.raw);
        elapsed.on_device(&self.device)
    }
}
