//! The streams of a device: their creation and closing, and how one waits for another.

use crate::capture::{self, Capture};
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::dependencies::Point;
use crate::stream::event::EventPool;
use crate::stream::{CurrentStream, GpuStream, StreamHandle};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use isobit_hal::{Result, Stream, StreamId, stream};
use std::sync::Arc;

#[derive(Debug)]
struct State<R: GpuRuntime> {
    /// The streams other than the default one.
    live: Vec<Arc<GpuStream<R>>>,
    /// The last points of closed streams, until they are known to be done.
    closed: Vec<Point<R>>,
    /// The number of running captures.
    captures: usize,
}

/// The streams of one device.
#[derive(Debug)]
pub(crate) struct Streams<R: GpuRuntime> {
    default: Arc<GpuStream<R>>,
    /// Whether work is ordered by more than the default stream alone: there is another stream or a
    /// capture.
    several: AtomicBool,
    tracking: AtomicBool,
    events: Arc<EventPool<R>>,
    state: Mutex<State<R>>,
}

impl<R: GpuRuntime> Streams<R> {
    pub(crate) fn new(default: R::Stream) -> Self {
        Self {
            default: Arc::new(GpuStream::new(default)),
            several: AtomicBool::new(false),
            tracking: AtomicBool::new(true),
            events: EventPool::new(),
            state: Mutex::new(State { live: Vec::new(), closed: Vec::new(), captures: 0 }),
        }
    }

    pub(crate) fn default(&self) -> &Arc<GpuStream<R>> {
        &self.default
    }

    fn live(&self) -> Vec<Arc<GpuStream<R>>> {
        let mut all = vec![self.default.clone()];
        all.extend(self.state.lock().live.iter().cloned());
        all
    }
}

impl<R: GpuRuntime> GpuDevice<R> {
    /// Whether all work runs in the order of the default stream.
    #[inline]
    pub(crate) fn has_one_stream(&self) -> bool {
        !self.streams().several.load(Ordering::SeqCst)
    }

    pub(crate) fn tracks_events(&self) -> bool {
        self.streams().tracking.load(Ordering::SeqCst)
    }

    /// Returns the stream that this thread's work on the device goes to.
    ///
    /// ```
    /// use isobit_hal::Result;
    /// use isobit_kernels::{GpuDevice, GpuRuntime, GpuStorage};
    ///
    /// /// Zeroes a storage on the stream that the device uses for this thread.
    /// ///
    /// /// # Safety
    /// /// `x` has `bytes` bytes, and no other stream uses it.
    /// unsafe fn zero<R: GpuRuntime>(
    ///     device: &GpuDevice<R>,
    ///     x: &GpuStorage<R>,
    ///     bytes: usize,
    /// ) -> Result<()> {
    ///     // SAFETY: the caller promises that the storage has this many bytes.
    ///     unsafe { device.runtime().set_bytes(&device.stream(), x.ptr(), 0, bytes) }
    /// }
    /// ```
    #[inline]
    pub fn stream(&self) -> CurrentStream<'_, R> {
        if self.has_one_stream() {
            return CurrentStream::default(&self.streams().default);
        }
        let entered = stream::with_entered(self.device_id(), |entered| {
            entered.and_then(|s| s.downcast_ref::<StreamHandle<R>>()).map(|handle| handle.stream.clone())
        });
        entered.map_or_else(|| CurrentStream::default(&self.streams().default), CurrentStream::entered)
    }

    /// Marks the current end of a stream.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn mark(&self, stream: &GpuStream<R>) -> Result<Point<R>> {
        let event = self.streams().events.take(self.runtime())?;
        let number = stream.next_number();
        self.runtime().record(event.raw(), stream).on_device(self)?;
        Ok(Point { stream: stream.id(), number, event: Some(Arc::new(event)) })
    }

    /// Makes a stream wait for a point of another one.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn wait_for(&self, stream: &GpuStream<R>, point: &Point<R>) -> Result<()> {
        if stream.has_waited_for(point) {
            return Ok(());
        }
        let marked;
        let point = if point.event.is_some() {
            point
        } else {
            match self.marked(stream, point.stream)? {
                Some(later) => marked = later,
                None => return Ok(()),
            }
            &marked
        };
        self.wait_marked(stream, point)
    }

    fn wait_marked(&self, stream: &GpuStream<R>, point: &Point<R>) -> Result<()> {
        if let Some(event) = &point.event {
            self.runtime().wait_event(stream, event.raw()).on_device(self)?;
            stream.note_waited(point);
        }
        Ok(())
    }

    /// Returns a marked point of a stream: its current end, or its last point if it is closed.
    /// Returns `None` if that work is done.
    fn marked(&self, asker: &GpuStream<R>, id: StreamId) -> Result<Option<Point<R>>> {
        let found = self.streams().live().into_iter().find(|s| s.id() == id);
        match found {
            Some(stream) => self.present(asker, &stream).map(Some),
            None => Ok(self.streams().state.lock().closed.iter().find(|p| p.stream == id).cloned()),
        }
    }

    /// Returns the current end of a stream. If the stream is being captured and the asker is not
    /// part of the capture, returns its last point outside the capture.
    fn present(&self, asker: &GpuStream<R>, stream: &GpuStream<R>) -> Result<Point<R>> {
        match (stream.capture(), asker.capture()) {
            (Some(theirs), own) if own.as_ref().is_none_or(|own| !Arc::ptr_eq(own, &theirs)) => {
                stream.before_capture().map_or_else(|| self.mark(stream), Ok)
            }
            _ => self.mark(stream),
        }
    }

    /// Makes a stream wait for the current end of another.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn wait_present(&self, stream: &GpuStream<R>, other: &GpuStream<R>) -> Result<()> {
        if stream.id() == other.id() {
            return Ok(());
        }
        let point = self.present(stream, other)?;
        self.wait_marked(stream, &point)
    }

    /// Same as [`wait_present`](Self::wait_present), requested by a user: a captured stream draws
    /// the one that waits into its capture.
    ///
    /// # Errors
    /// Returns `CaptureViolation` if a captured stream would wait for one outside its capture, or
    /// the driver's error.
    pub(crate) fn join_streams(&self, stream: &Arc<GpuStream<R>>, other: &Arc<GpuStream<R>>) -> Result<()> {
        if stream.id() == other.id() {
            return Ok(());
        }
        self.meet_capture(stream, other.capture().as_ref())?;
        let point = self.mark(other)?;
        self.wait_marked(stream, &point)
    }

    /// Called before a stream waits for work that belongs to a capture or to none. Makes the stream
    /// part of that capture, or returns an error.
    ///
    /// # Errors
    /// Returns `CaptureViolation` if the stream belongs to another capture than the work, or the
    /// driver's error.
    pub(crate) fn meet_capture(&self, stream: &Arc<GpuStream<R>>, theirs: Option<&Arc<Capture<R>>>) -> Result<()> {
        match (stream.capture(), theirs) {
            (None, None) => Ok(()),
            (None, Some(theirs)) => self.draw_into_capture(stream, theirs),
            (Some(own), Some(theirs)) if Arc::ptr_eq(&own, theirs) => Ok(()),
            (Some(_), None) => Err(capture::outside()),
            (Some(_), Some(_)) => Err(capture::two_captures()),
        }
    }

    /// Makes a stream part of a capture.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn draw_into_capture(&self, stream: &Arc<GpuStream<R>>, capture: &Arc<Capture<R>>) -> Result<()> {
        let before = self.mark(stream)?;
        stream.enter_capture(capture.clone(), before);
        capture.add_member(stream.clone());
        Ok(())
    }

    /// Starts capturing a stream, after all work enqueued on any stream so far, so captured work
    /// does not need to wait for that work.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn begin_capture(&self, stream: &Arc<GpuStream<R>>, capture: &Arc<Capture<R>>) -> Result<()> {
        let streams = self.streams();
        {
            let mut state = streams.state.lock();
            state.captures += 1;
            // From now on, the blocks of operations are tracked.
            streams.several.store(true, Ordering::SeqCst);
        }
        let begun = self.join_all(stream).and_then(|points| {
            let before = self.mark(stream)?;
            self.runtime().begin_capture(stream)?;
            stream.enter_capture(capture.clone(), before);
            points.iter().for_each(|point| stream.note_waited(point));
            capture.add_member(stream.clone());
            Ok(())
        });
        if begun.is_err() {
            self.end_capture(capture);
        }
        begun
    }

    /// Makes a stream wait for the current ends of all others, and returns these points.
    fn join_all(&self, stream: &GpuStream<R>) -> Result<Vec<Point<R>>> {
        let others = self.streams().live().into_iter().filter(|other| other.id() != stream.id());
        let mut points = others.map(|other| self.present(stream, &other)).collect::<Result<Vec<_>>>()?;
        points.extend(self.streams().state.lock().closed.iter().cloned());
        points.iter().try_for_each(|point| self.wait_marked(stream, point))?;
        Ok(points)
    }

    /// Ends a capture and restores its streams.
    pub(crate) fn end_capture(&self, capture: &Capture<R>) {
        for stream in capture.take_members() {
            stream.leave_capture();
            // A stream that was forked within the capture has not waited for anything outside.
            let _ = self.wait_present(&stream, self.streams().default());
            if stream.is_abandoned() {
                self.close_stream(&stream);
            }
        }
        let mut state = self.streams().state.lock();
        state.captures -= 1;
        self.settle(&mut state);
    }

    /// If no other stream is left, returns to the order of the default stream, after the work of
    /// the closed streams.
    fn settle(&self, state: &mut State<R>) {
        let streams = self.streams();
        state.closed.retain(|point| !point.is_over(self.runtime()));
        if state.live.is_empty() && state.captures == 0 {
            let waited = state.closed.iter().try_for_each(|point| self.wait_marked(&streams.default, point));
            if waited.is_ok() {
                state.closed.clear();
                streams.several.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Creates a stream that starts after the current end of another, and after all work that ran
    /// while there was only one stream.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn fork_stream(&self, parent: &Arc<GpuStream<R>>) -> Result<Stream> {
        self.add_stream(parent, || self.runtime().new_stream())
    }

    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn add_stream(
        &self,
        parent: &Arc<GpuStream<R>>,
        make: impl FnOnce() -> Result<R::Stream>,
    ) -> Result<Stream> {
        let streams = self.streams();
        let raw = make().on_device(self)?;
        let stream: Arc<GpuStream<R>> = Arc::new(GpuStream::new(raw));
        {
            let mut state = streams.state.lock();
            // Before the current end of the default stream is marked: see `Order::after`.
            streams.several.store(true, Ordering::SeqCst);
            state.live.push(stream.clone());
        }
        let handle = StreamHandle::stream(self.clone(), stream.clone());
        if parent.capture().is_none() {
            self.wait_present(&stream, &streams.default)?;
        }
        if parent.id() != streams.default.id() || parent.capture().is_some() {
            self.join_streams(&stream, parent)?;
        }
        Ok(handle)
    }

    /// Called when the last handle to a stream is dropped. Its work continues.
    pub(crate) fn close_stream(&self, stream: &Arc<GpuStream<R>>) {
        let streams = self.streams();
        if stream.id() == streams.default.id() || !stream.abandon() {
            return;
        }
        let mut state = streams.state.lock();
        match self.mark(stream) {
            Ok(point) => state.closed.push(point),
            // In this case only the host can wait for its work.
            Err(_) => drop(self.runtime().synchronize(stream)),
        }
        state.live.retain(|s| s.id() != stream.id());
        self.settle(&mut state);
        drop(state);
        self.runtime().close_stream(stream);
    }

    /// Waits for all work on all streams, except for captured streams, which execute nothing.
    ///
    /// # Errors
    /// Returns the first error of the work.
    pub(crate) fn wait_all(&self) -> Result<()> {
        let (runtime, mut outcome) = (self.runtime(), Ok(()));
        if self.has_one_stream() {
            return runtime.synchronize(&self.streams().default);
        }
        for stream in self.streams().live() {
            if !stream.is_capturing() {
                outcome = outcome.and(runtime.synchronize(&stream));
            }
        }
        let closed = self.streams().state.lock().closed.clone();
        for event in closed.iter().filter_map(|point| point.event.as_ref()) {
            outcome = outcome.and(runtime.synchronize_event(event.raw()));
        }
        let mut state = self.streams().state.lock();
        self.settle(&mut state);
        outcome
    }

    /// Enables or disables ordering by events, after all work enqueued on any stream so far.
    pub(crate) fn track_events(&self, track: bool) {
        let streams = self.streams();
        // Before the streams are joined, so that work enqueued during the join is recorded.
        let was = streams.tracking.swap(track, Ordering::SeqCst);
        if !track || was || self.has_one_stream() {
            return;
        }
        let live = streams.live();
        for (i, stream) in live.iter().enumerate() {
            for (_, other) in live.iter().enumerate().filter(|(j, _)| *j != i) {
                // If the driver cannot record or wait, the next operation reports it too.
                let _ = self.wait_present(stream, other);
            }
        }
    }
}
