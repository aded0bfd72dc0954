//! One stream of a GPU: the vendor's stream with what ordering needs to know of it, and the handle
//! that users of the HAL hold.

pub(crate) mod dependencies;
pub(crate) mod event;
pub(crate) mod streams;

use crate::capture::Capture;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::dependencies::Point;
use crate::stream::event::GpuEvent;
use isobit_hal::stream::StreamBackend;
use isobit_hal::{DeviceId, Error, ErrorKind, Event, Result, Stream, StreamId};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Of which points of other streams a stream is known to run after: the last one of each.
#[derive(Debug, Default)]
pub(crate) struct WaitedPoints(SmallVec<[(StreamId, u64); 4]>);

impl WaitedPoints {
    /// Streams come and go; an entry that was dropped costs a wait that was not needed.
    const MOST: usize = 32;

    fn contains(&self, stream: StreamId, number: u64) -> bool {
        self.0.iter().any(|&(s, n)| s == stream && n >= number)
    }

    fn add(&mut self, stream: StreamId, number: u64) {
        match self.0.iter_mut().find(|(s, _)| *s == stream) {
            Some((_, known)) => *known = number.max(*known),
            None => {
                if self.0.len() == Self::MOST {
                    self.0.remove(0);
                }
                self.0.push((stream, number));
            }
        }
    }
}

/// A stream's part in a capture.
#[derive(Debug)]
struct Captured<R: GpuRuntime> {
    capture: Arc<Capture<R>>,
    /// The stream's last point that is not part of the capture.
    before: Point<R>,
    /// As the stream's own, for points of the capture.
    waited: WaitedPoints,
}

/// A stream of a device. It derefs to the runtime's stream.
#[derive(Debug)]
pub struct GpuStream<R: GpuRuntime> {
    id: StreamId,
    raw: R::Stream,
    /// Points that were marked in it.
    marked: AtomicU64,
    waited: Mutex<WaitedPoints>,
    capturing: AtomicBool,
    captured: Mutex<Option<Captured<R>>>,
    /// Its last handle was dropped.
    abandoned: AtomicBool,
    closed: AtomicBool,
}

impl<R: GpuRuntime> Deref for GpuStream<R> {
    type Target = R::Stream;

    fn deref(&self) -> &R::Stream {
        &self.raw
    }
}

impl<R: GpuRuntime> GpuStream<R> {
    pub(crate) fn new(raw: R::Stream) -> Self {
        Self {
            id: StreamId::new(),
            raw,
            marked: AtomicU64::new(0),
            waited: Mutex::default(),
            capturing: AtomicBool::new(false),
            captured: Mutex::new(None),
            abandoned: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Unique per stream.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// The number of the next point. It must be taken after the work that the point stands for was
    /// given to the stream, and before the event is recorded: who waited for a point has then
    /// waited for all of lower numbers.
    pub(crate) fn next_number(&self) -> u64 {
        self.marked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The point after all work given to the stream so far, which has no event yet: it is marked
    /// when another stream must wait for it.
    pub(crate) fn next_point(&self) -> Point<R> {
        Point { stream: self.id, number: self.marked.load(Ordering::SeqCst) + 1, event: None }
    }

    /// Whether work given to this stream runs after the point in any case.
    pub(crate) fn has_waited_for(&self, point: &Point<R>) -> bool {
        if point.stream == self.id {
            return true;
        }
        if self.is_capturing()
            && let Some(captured) = &*self.captured.lock()
        {
            return captured.waited.contains(point.stream, point.number);
        }
        self.waited.lock().contains(point.stream, point.number)
    }

    /// The stream was told to wait for the point.
    pub(crate) fn note_waited(&self, point: &Point<R>) {
        if self.is_capturing()
            && let Some(captured) = &mut *self.captured.lock()
        {
            return captured.waited.add(point.stream, point.number);
        }
        self.waited.lock().add(point.stream, point.number);
    }

    /// Whether work given to the stream is captured instead of being done.
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::SeqCst)
    }

    /// The capture that it is part of.
    pub(crate) fn capture(&self) -> Option<Arc<Capture<R>>> {
        if !self.is_capturing() {
            return None;
        }
        self.captured.lock().as_ref().map(|c| c.capture.clone())
    }

    /// Its last point outside the capture that it is part of.
    pub(crate) fn before_capture(&self) -> Option<Point<R>> {
        self.captured.lock().as_ref().map(|c| c.before.clone())
    }

    /// It is part of a capture from now on; `before` was marked in it last.
    pub(crate) fn enter_capture(&self, capture: Arc<Capture<R>>, before: Point<R>) {
        *self.captured.lock() = Some(Captured { capture, before, waited: WaitedPoints::default() });
        self.capturing.store(true, Ordering::SeqCst);
    }

    /// Its capture is over.
    pub(crate) fn leave_capture(&self) {
        self.capturing.store(false, Ordering::SeqCst);
        let captured = self.captured.lock().take();
        // Outside the lock: a capture's end may drop much.
        drop(captured);
    }

    /// Its last handle is dropped. Whether it is to be closed now: by one caller, and not before
    /// its capture ends.
    pub(crate) fn abandon(&self) -> bool {
        self.abandoned.store(true, Ordering::SeqCst);
        !self.is_capturing() && !self.closed.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }
}

/// The stream that a thread's work goes to. It derefs to the runtime's stream.
#[derive(Debug)]
pub struct CurrentStream<'a, R: GpuRuntime>(Current<'a, R>);

#[derive(Debug)]
enum Current<'a, R: GpuRuntime> {
    Default(&'a Arc<GpuStream<R>>),
    Entered(Arc<GpuStream<R>>),
}

impl<'a, R: GpuRuntime> CurrentStream<'a, R> {
    pub(crate) fn default(stream: &'a Arc<GpuStream<R>>) -> Self {
        Self(Current::Default(stream))
    }

    pub(crate) fn entered(stream: Arc<GpuStream<R>>) -> Self {
        Self(Current::Entered(stream))
    }

    /// A handle to the stream itself.
    pub(crate) fn shared(&self) -> &Arc<GpuStream<R>> {
        match &self.0 {
            Current::Default(stream) => stream,
            Current::Entered(stream) => stream,
        }
    }
}

impl<R: GpuRuntime> Deref for CurrentStream<'_, R> {
    type Target = GpuStream<R>;

    fn deref(&self) -> &GpuStream<R> {
        self.shared()
    }
}

/// What a [`Stream`] of a GPU is: it keeps device and stream open.
#[derive(Debug)]
pub(crate) struct StreamHandle<R: GpuRuntime> {
    pub(crate) device: GpuDevice<R>,
    pub(crate) stream: Arc<GpuStream<R>>,
}

impl<R: GpuRuntime> StreamHandle<R> {
    pub(crate) fn stream(device: GpuDevice<R>, stream: Arc<GpuStream<R>>) -> Stream {
        Stream::from_backend(Arc::new(Self { device, stream }))
    }
}

impl<R: GpuRuntime> Drop for StreamHandle<R> {
    fn drop(&mut self) {
        // There is one handle to each stream but the default one, which closes with the device.
        self.device.close_stream(&self.stream);
    }
}

#[cold]
fn foreign(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the {what} is of another driver: use one made by the same device"))
}

impl<R: GpuRuntime> StreamBackend for StreamHandle<R> {
    fn id(&self) -> StreamId {
        self.stream.id
    }

    fn device(&self) -> DeviceId {
        self.device.device_id()
    }

    fn raw(&self) -> u64 {
        self.device.runtime().raw_stream(&self.stream)
    }

    fn synchronize(&self) -> Result<()> {
        self.device.synchronize_stream(&self.stream)
    }

    fn query(&self) -> Result<bool> {
        self.device.refuse_in_capture(&self.stream, "asking whether a stream is done")?;
        let idle = self.device.runtime().stream_is_idle(&self.stream);
        idle.on_device(&self.device)
    }

    fn record(&self, event: &Event) -> Result<()> {
        event.downcast_ref::<GpuEvent<R>>().ok_or_else(|| foreign("event"))?.record(&self.device, &self.stream)
    }

    fn wait_event(&self, event: &Event) -> Result<()> {
        match event.downcast_ref::<GpuEvent<R>>() {
            Some(event) => event.wait(&self.device, &self.stream),
            // Another driver's work can be waited for by the host alone.
            None => event.synchronize(),
        }
    }

    fn join(&self, other: &Stream) -> Result<()> {
        let other = other.downcast_ref::<Self>().ok_or_else(|| foreign("stream"))?;
        self.device.join_streams(&self.stream, &other.stream)
    }

    fn fork(&self) -> Result<Stream> {
        self.device.fork_stream(&self.stream)
    }
}
