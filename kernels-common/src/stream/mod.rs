//! One stream of a GPU: the vendor's stream with the state for ordering, and the handle that users
//! of the HAL hold.

pub(crate) mod dependencies;
pub(crate) mod event;
pub(crate) mod streams;

use crate::capture::Capture;
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::dependencies::Point;
use crate::stream::event::GpuEvent;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use isobit_hal::stream::StreamBackend;
use isobit_hal::{DeviceId, Error, ErrorKind, Event, Result, Stream, StreamId};
use smallvec::SmallVec;
use std::ops::Deref;
use std::sync::Arc;

/// The last point of each other stream that a stream is known to run after.
#[derive(Debug, Default)]
pub(crate) struct WaitedPoints(SmallVec<[(StreamId, u64); 4]>);

impl WaitedPoints {
    /// Streams come and go. Removing an entry only costs an unnecessary wait.
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
    /// The stream's last point outside the capture.
    before: Point<R>,
    /// The same as the stream's own, for points of the capture.
    waited: WaitedPoints,
}

/// A stream of a device. It derefs to the runtime's stream.
#[derive(Debug)]
pub struct GpuStream<R: GpuRuntime> {
    id: StreamId,
    raw: R::Stream,
    /// The number of points that were marked on the stream.
    marked: AtomicU64,
    waited: Mutex<WaitedPoints>,
    capturing: AtomicBool,
    captured: Mutex<Option<Captured<R>>>,
    /// Whether its last handle was dropped.
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

    /// Returns the id, which is unique for each stream.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Takes the number of the next point. The number must be taken after the work before the point
    /// was enqueued, and before the event is recorded. Waiting for a point then also waits for all
    /// points with lower numbers.
    pub(crate) fn next_number(&self) -> u64 {
        self.marked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Returns the point after all work enqueued so far. It has no event yet; it is marked when
    /// another stream must wait for it.
    pub(crate) fn next_point(&self) -> Point<R> {
        Point { stream: self.id, number: self.marked.load(Ordering::SeqCst) + 1, event: None }
    }

    /// Whether new work on this stream runs after the point in any case.
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

    /// Records that the stream waits for the point.
    pub(crate) fn note_waited(&self, point: &Point<R>) {
        if self.is_capturing()
            && let Some(captured) = &mut *self.captured.lock()
        {
            return captured.waited.add(point.stream, point.number);
        }
        self.waited.lock().add(point.stream, point.number);
    }

    /// Whether work on the stream is captured instead of executed.
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing.load(Ordering::SeqCst)
    }

    /// Returns the capture that it is part of.
    pub(crate) fn capture(&self) -> Option<Arc<Capture<R>>> {
        if !self.is_capturing() {
            return None;
        }
        self.captured.lock().as_ref().map(|c| c.capture.clone())
    }

    /// Returns its last point outside the capture that it is part of.
    pub(crate) fn before_capture(&self) -> Option<Point<R>> {
        self.captured.lock().as_ref().map(|c| c.before.clone())
    }

    /// Makes the stream part of a capture. `before` is the last point marked on it.
    pub(crate) fn enter_capture(&self, capture: Arc<Capture<R>>, before: Point<R>) {
        *self.captured.lock() = Some(Captured { capture, before, waited: WaitedPoints::default() });
        self.capturing.store(true, Ordering::SeqCst);
    }

    /// Ends the stream's part in a capture.
    pub(crate) fn leave_capture(&self) {
        self.capturing.store(false, Ordering::SeqCst);
        let captured = self.captured.lock().take();
        // Outside the lock: dropping a capture may release many resources.
        drop(captured);
    }

    /// Called when the last handle is dropped. Returns whether the caller must close the stream
    /// now: this holds for one caller only, and not before its capture ends.
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

    /// Returns a shared handle to the stream.
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

/// The implementation of [`Stream`] for GPUs. It keeps the device and the stream open.
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
        // Every stream has one handle, except for the default stream, which closes with the device.
        self.device.close_stream(&self.stream);
    }
}

#[cold]
fn foreign(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the {what} belongs to another driver: use one of the same device"))
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
            // Only the host can wait for another driver's work.
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

    fn is_capturing(&self) -> bool {
        self.stream.is_capturing()
    }
}
