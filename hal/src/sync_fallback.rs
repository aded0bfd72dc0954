//! Synchronous streams, events, graphs and pinned memory for a device that runs its work in one
//! fixed order: the CPU, and any driver that implements only operations. The calls keep their
//! guarantees because everything runs in the order in which it was enqueued; nothing runs
//! concurrently.

use crate::event::EventBackend;
use crate::graph::{GraphBackend, Step};
use crate::pinned::PinnedMemory;
use crate::stream::{StreamBackend, StreamId};
use crate::{BackendDevice, DeviceId, Error, ErrorKind, Event, Result, Stream};
use parking_lot::Mutex;
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

/// A handle to the device's single order of work.
#[derive(Debug)]
pub(crate) struct InOrderStream<D> {
    id: StreamId,
    device: D,
}

impl<D: BackendDevice> InOrderStream<D> {
    /// Returns the device's default stream, with the same id each time.
    pub(crate) fn default_of(device: &D) -> Stream {
        Self::stream(device, StreamId::default_of(device.id()))
    }

    fn stream(device: &D, id: StreamId) -> Stream {
        Stream::from_backend(Arc::new(Self { id, device: device.clone() }))
    }
}

impl<D: BackendDevice> StreamBackend for InOrderStream<D> {
    fn id(&self) -> StreamId {
        self.id
    }

    fn device(&self) -> DeviceId {
        self.device.id()
    }

    fn raw(&self) -> u64 {
        0
    }

    fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }

    fn query(&self) -> Result<bool> {
        self.synchronize().map(|()| true)
    }

    fn record(&self, event: &Event) -> Result<()> {
        let own = event.downcast_ref::<InOrderEvent>().ok_or_else(foreign)?;
        self.synchronize()?;
        *own.reached.lock() = Some(Instant::now());
        Ok(())
    }

    fn wait_event(&self, event: &Event) -> Result<()> {
        event.synchronize()
    }

    fn join(&self, _other: &Stream) -> Result<()> {
        Ok(())
    }

    fn fork(&self) -> Result<Stream> {
        Ok(Self::stream(&self.device, StreamId::new()))
    }
}

#[cold]
fn foreign() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the event belongs to another driver: use one created by the same device")
}

/// The time at which the device had finished all earlier work.
#[derive(Debug)]
pub(crate) struct InOrderEvent {
    device: DeviceId,
    reached: Mutex<Option<Instant>>,
}

impl InOrderEvent {
    pub(crate) fn event(device: DeviceId) -> Event {
        Event::from_backend(Arc::new(Self { device, reached: Mutex::default() }))
    }

    fn reached(&self) -> Result<Instant> {
        self.reached.lock().ok_or_else(|| {
            let message = "the event was never recorded, so it has no time: record it on a stream first";
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

impl EventBackend for InOrderEvent {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn elapsed_time(&self, end: &Event) -> Result<f32> {
        let end = end.downcast_ref::<Self>().ok_or_else(foreign)?;
        let (from, to) = (self.reached()?, end.reached()?);
        let forward = to.saturating_duration_since(from).as_secs_f64();
        Ok(((forward - from.saturating_duration_since(to).as_secs_f64()) * 1e3) as f32)
    }
}

/// A graph that calls the step itself.
pub(crate) struct StepGraph(pub(crate) Step);

impl fmt::Debug for StepGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepGraph")
    }
}

impl GraphBackend for StepGraph {
    fn replay(&mut self) -> Result<()> {
        (self.0)()
    }

    fn update(&mut self) -> Result<()> {
        Ok(())
    }

    fn node_count(&self) -> usize {
        0
    }
}

/// Ordinary host memory in place of pinned memory.
#[derive(Debug)]
pub(crate) struct HostMemory {
    // Cells, because the memory is written through the pointer that `as_ptr` returns.
    lines: Box<[UnsafeCell<Line>]>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; 64]);

impl HostMemory {
    /// Allocates zeros.
    pub(crate) fn new(len: usize) -> Result<Self> {
        let mut lines = Vec::new();
        let count = len.div_ceil(size_of::<Line>());
        lines.try_reserve_exact(count).map_err(|e| {
            Error::new(ErrorKind::OutOfMemory, format!("cannot allocate {len} bytes of host memory")).with_source(e)
        })?;
        lines.resize_with(count, || UnsafeCell::new(Line([0; 64])));
        Ok(Self { lines: lines.into(), len })
    }
}

// SAFETY: this type never accesses the cells. `PinnedBuffer`, which owns the memory, only lends its
// bytes under a borrow of itself: shared to read them, exclusive to write them.
unsafe impl Sync for HostMemory {}

impl PinnedMemory for HostMemory {
    fn as_ptr(&self) -> NonNull<u8> {
        NonNull::from(&*self.lines).cast()
    }

    fn len(&self) -> usize {
        self.len
    }
}
