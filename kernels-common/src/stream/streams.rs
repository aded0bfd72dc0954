//! The streams of a device: which there are, how they come and go, and how one waits for another.

use crate::capture::{self, Capture};
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::GpuRuntime;
use crate::stream::dependencies::Point;
use crate::stream::event::EventPool;
use crate::stream::{CurrentStream, GpuStream, StreamHandle};
use isobit_hal::{Result, Stream, StreamId, stream};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
struct State<R: GpuRuntime> {
    /// Streams beside the default one.
    live: Vec<Arc<GpuStream<R>>>,
    /// The last points of streams that closed, until they are known to be over.
    closed: Vec<Point<R>>,
    /// Captures going on.
    captures: usize,
}

/// The streams of one device.
#[derive(Debug)]
pub(crate) struct Streams<R: GpuRuntime> {
    default: Arc<GpuStream<R>>,
    /// Whether there is more than the default stream's one order: another stream, or a capture.
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
    /// Whether everything runs in the default stream's one order.
    #[inline]
    pub(crate) fn has_one_stream(&self) -> bool {
        !self.streams().several.load(Ordering::SeqCst)
    }

    pub(crate) fn tracks_events(&self) -> bool {
        self.streams().tracking.load(Ordering::SeqCst)
    }

    /// The stream that this thread's work on the device goes to.
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

    /// Marks the present point of a stream.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn mark(&self, stream: &GpuStream<R>) -> Result<Point<R>> {
        let event = self.streams().events.take(self.runtime())?;
        let number = stream.next_number();
        self.runtime().record(event.raw(), stream).on_device(self)?;
        Ok(Point { stream: stream.id(), number, event: Some(Arc::new(event)) })
    }

    /// Has a stream wait for a point of another one.
    ///
    /// # Errors
    /// Those of the driver.
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

    /// A marked point of a stream, at the present or, where it is closed, at its end. `None` where
    /// that is over.
    fn marked(&self, asker: &GpuStream<R>, id: StreamId) -> Result<Option<Point<R>>> {
        let found = self.streams().live().into_iter().find(|s| s.id() == id);
        match found {
            Some(stream) => self.present(asker, &stream).map(Some),
            None => Ok(self.streams().state.lock().closed.iter().find(|p| p.stream == id).cloned()),
        }
    }

    /// The present point of a stream. Where it is captured and the asker is not part of that, its
    /// last point outside the capture.
    fn present(&self, asker: &GpuStream<R>, stream: &GpuStream<R>) -> Result<Point<R>> {
        match (stream.capture(), asker.capture()) {
            (Some(theirs), own) if own.as_ref().is_none_or(|own| !Arc::ptr_eq(own, &theirs)) => {
                stream.before_capture().map_or_else(|| self.mark(stream), Ok)
            }
            _ => self.mark(stream),
        }
    }

    /// Has a stream wait for the present of another.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn wait_present(&self, stream: &GpuStream<R>, other: &GpuStream<R>) -> Result<()> {
        if stream.id() == other.id() {
            return Ok(());
        }
        let point = self.present(stream, other)?;
        self.wait_marked(stream, &point)
    }

    /// As [`wait_present`](Self::wait_present) at a user's wish: a captured stream draws the one
    /// that waits into its capture.
    ///
    /// # Errors
    /// `CaptureViolation` where a captured stream would wait for one outside its capture; those of
    /// the driver.
    pub(crate) fn join_streams(&self, stream: &Arc<GpuStream<R>>, other: &Arc<GpuStream<R>>) -> Result<()> {
        if stream.id() == other.id() {
            return Ok(());
        }
        self.meet_capture(stream, other.capture().as_ref())?;
        let point = self.mark(other)?;
        self.wait_marked(stream, &point)
    }

    /// A stream is about to wait for work that belongs to a capture, or to none: it becomes part of
    /// that capture, or refuses.
    ///
    /// # Errors
    /// `CaptureViolation` where the stream belongs to another capture than the work; those of the
    /// driver.
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
    /// Those of the driver.
    pub(crate) fn draw_into_capture(&self, stream: &Arc<GpuStream<R>>, capture: &Arc<Capture<R>>) -> Result<()> {
        let before = self.mark(stream)?;
        stream.enter_capture(capture.clone(), before);
        capture.add_member(stream.clone());
        Ok(())
    }

    /// Begins to capture a stream, after everything that was given to any stream so far: work that
    /// is captured need not wait for that.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn begin_capture(&self, stream: &Arc<GpuStream<R>>, capture: &Arc<Capture<R>>) -> Result<()> {
        let streams = self.streams();
        {
            let mut state = streams.state.lock();
            state.captures += 1;
            // From now on blocks of operations are looked at.
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

    /// Has a stream wait for the present of all others, which are the points given.
    fn join_all(&self, stream: &GpuStream<R>) -> Result<Vec<Point<R>>> {
        let others = self.streams().live().into_iter().filter(|other| other.id() != stream.id());
        let mut points = others.map(|other| self.present(stream, &other)).collect::<Result<Vec<_>>>()?;
        points.extend(self.streams().state.lock().closed.iter().cloned());
        points.iter().try_for_each(|point| self.wait_marked(stream, point))?;
        Ok(points)
    }

    /// A capture is over: its streams are as they were before it.
    pub(crate) fn end_capture(&self, capture: &Capture<R>) {
        for stream in capture.take_members() {
            stream.leave_capture();
            // A stream that was forked within the capture waited for nothing outside.
            let _ = self.wait_present(&stream, self.streams().default());
            if stream.is_abandoned() {
                self.close_stream(&stream);
            }
        }
        let mut state = self.streams().state.lock();
        state.captures -= 1;
        self.settle(&mut state);
    }

    /// Where no other stream is left, everything runs in the order of the default one again: after
    /// the work of those that closed.
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

    /// A new stream after the present of another one, and after all that ran while there was one
    /// stream.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn fork_stream(&self, parent: &Arc<GpuStream<R>>) -> Result<Stream> {
        self.add_stream(parent, || self.runtime().new_stream())
    }

    /// # Errors
    /// Those of the driver.
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
            // Before the default stream's present is marked: see `Order::after`.
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

    /// The last handle to a stream is dropped. Its work goes on.
    pub(crate) fn close_stream(&self, stream: &Arc<GpuStream<R>>) {
        let streams = self.streams();
        if stream.id() == streams.default.id() || !stream.abandon() {
            return;
        }
        let mut state = streams.state.lock();
        match self.mark(stream) {
            Ok(point) => state.closed.push(point),
            // Then only the host can wait for what it was given.
            Err(_) => drop(self.runtime().synchronize(stream)),
        }
        state.live.retain(|s| s.id() != stream.id());
        self.settle(&mut state);
        drop(state);
        self.runtime().close_stream(stream);
    }

    /// Waits for everything that was given to any stream, but for captured ones, which run nothing.
    ///
    /// # Errors
    /// The first of the work's.
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

    /// Turns the order by events on, after everything that was given to any stream so far.
    pub(crate) fn track_events(&self, track: bool) {
        let streams = self.streams();
        // Before the streams meet, so that work that they do not meet in is recorded.
        let was = streams.tracking.swap(track, Ordering::SeqCst);
        if !track || was || self.has_one_stream() {
            return;
        }
        let live = streams.live();
        for (i, stream) in live.iter().enumerate() {
            for (_, other) in live.iter().enumerate().filter(|(j, _)| *j != i) {
                // A driver that cannot record or wait reports that at the next operation too.
                let _ = self.wait_present(stream, other);
            }
        }
    }
}
