//! Capture: work enqueued on a stream, and on streams that join it through events, becomes nodes of
//! a graph instead of being executed.

use super::graph::Graph;
use super::{QueueError, Queues, State, StreamId, Work};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::thread::{self, ThreadId};

/// How strictly a capture, or a thread, restricts calls that wait or allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CaptureMode {
    /// No thread in this mode may make such calls while any capture in this mode is active.
    #[default]
    Global,
    /// The thread that began the capture may not make such calls.
    ThreadLocal,
    /// Such calls are allowed.
    Relaxed,
}

/// The capture state of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureStatus {
    /// The stream is not capturing.
    None,
    /// The stream is capturing.
    Active,
    /// A forbidden call invalidated the capture, which must still be ended.
    Invalidated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CaptureId(u64);

#[derive(Debug)]
struct Capture {
    origin: StreamId,
    mode: CaptureMode,
    thread: ThreadId,
    graph: Graph,
    /// Every participating stream, with the nodes that its next node depends on.
    frontiers: HashMap<StreamId, Vec<usize>>,
    invalid: bool,
}

#[derive(Debug, Default)]
pub(super) struct Captures {
    active: HashMap<CaptureId, Capture>,
    next: u64,
}

thread_local! {
    static THREAD_MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// Sets the calling thread's mode and returns the previous one.
pub fn exchange_capture_mode(mode: CaptureMode) -> CaptureMode {
    THREAD_MODE.replace(mode)
}

impl Captures {
    pub(super) fn invalidate(&mut self, capture: CaptureId) {
        if let Some(capture) = self.active.get_mut(&capture) {
            capture.invalid = true;
        }
    }

    pub(super) fn frontier(&self, capture: CaptureId, stream: StreamId) -> Vec<usize> {
        self.active.get(&capture).and_then(|capture| capture.frontiers.get(&stream)).cloned().unwrap_or_default()
    }
}

impl Queues {
    /// Begins capturing a stream.
    ///
    /// # Errors
    /// [`QueueError::CaptureUnsupported`] for a legacy default stream, [`QueueError::IllegalState`]
    /// if the stream is already capturing.
    pub fn begin_capture(&self, id: StreamId, mode: CaptureMode) -> Result<(), QueueError> {
        let mut state = self.state.lock();
        let stream = state.stream(id)?;
        if state.devices[stream.device].legacy == id {
            return Err(QueueError::CaptureUnsupported);
        }
        if stream.capture.is_some() {
            return Err(QueueError::IllegalState);
        }
        state.captures.next += 1;
        let capture = CaptureId(state.captures.next);
        let frontiers = HashMap::from([(id, Vec::new())]);
        let thread = thread::current().id();
        let begun = Capture { origin: id, mode, thread, graph: Graph::default(), frontiers, invalid: false };
        state.captures.active.insert(capture, begun);
        state.set_capture(id, Some(capture));
        Ok(())
    }

    /// Ends the capture that was begun on a stream, and returns the graph. The capture is over
    /// unless the error is [`QueueError::CaptureUnmatched`], [`QueueError::IllegalState`] or
    /// [`QueueError::CaptureWrongThread`].
    ///
    /// # Errors
    /// Returns one of those three, [`QueueError::CaptureInvalidated`] or
    /// [`QueueError::CaptureUnjoined`].
    pub fn end_capture(&self, id: StreamId) -> Result<Graph, QueueError> {
        let mut state = self.state.lock();
        let capture = state.stream(id)?.capture.ok_or(QueueError::IllegalState)?;
        let active = &state.captures.active[&capture];
        if active.origin != id {
            return Err(QueueError::CaptureUnmatched);
        }
        if active.mode != CaptureMode::Relaxed && active.thread != thread::current().id() {
            return Err(QueueError::CaptureWrongThread);
        }
        let ended = state.captures.active.remove(&capture).ok_or(QueueError::IllegalState)?;
        for &stream in ended.frontiers.keys() {
            state.set_capture(stream, None);
        }
        if ended.invalid {
            return Err(QueueError::CaptureInvalidated);
        }
        if ended.graph.before(&ended.frontiers[&id]).len() < ended.graph.len() {
            return Err(QueueError::CaptureUnjoined);
        }
        Ok(ended.graph)
    }

    /// Returns the capture state of a stream, and a number that identifies the capture.
    ///
    /// # Errors
    /// [`QueueError::UnknownStream`].
    pub fn capture_status(&self, id: StreamId) -> Result<(CaptureStatus, u64), QueueError> {
        let state = self.state.lock();
        Ok(match state.stream(id)?.capture {
            None => (CaptureStatus::None, 0),
            Some(capture) if state.captures.active[&capture].invalid => (CaptureStatus::Invalidated, capture.0),
            Some(capture) => (CaptureStatus::Active, capture.0),
        })
    }

    /// Refuses a call that allocates, frees or waits for a device if a capture forbids it. The
    /// capture becomes invalid.
    ///
    /// # Errors
    /// [`QueueError::CaptureUnsupported`].
    pub fn refuse_in_capture(&self) -> Result<(), QueueError> {
        let mut state = self.state.lock();
        if state.captures.active.is_empty() {
            return Ok(());
        }
        let (me, mine) = (thread::current().id(), THREAD_MODE.get());
        let mut forbidden = false;
        for capture in state.captures.active.values_mut() {
            let own = capture.thread == me && capture.mode != CaptureMode::Relaxed && mine != CaptureMode::Relaxed;
            let any = capture.mode == CaptureMode::Global && mine == CaptureMode::Global;
            if own || any {
                capture.invalid = true;
                forbidden = true;
            }
        }
        if forbidden { Err(QueueError::CaptureUnsupported) } else { Ok(()) }
    }
}

impl State {
    fn set_capture(&mut self, stream: StreamId, capture: Option<CaptureId>) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.capture = capture;
        }
    }

    /// Returns the capture that a stream is part of. Refuses work of a legacy default stream that
    /// would wait for a captured stream.
    pub(super) fn capturing(&mut self, id: StreamId) -> Result<Option<CaptureId>, QueueError> {
        let stream = self.stream(id)?;
        if let Some(capture) = stream.capture {
            let invalid = self.captures.active[&capture].invalid;
            return if invalid { Err(QueueError::CaptureInvalidated) } else { Ok(Some(capture)) };
        }
        if !self.captures.active.is_empty() && self.devices[stream.device].legacy == id {
            self.refuse_legacy(stream.device)?;
        }
        Ok(None)
    }

    fn refuse_legacy(&mut self, device: usize) -> Result<(), QueueError> {
        let waited_for: Vec<_> = self.blocking_captures(device).collect();
        for &capture in &waited_for {
            self.captures.invalidate(capture);
        }
        if waited_for.is_empty() { Ok(()) } else { Err(QueueError::CaptureImplicit) }
    }

    fn blocking_captures(&self, device: usize) -> impl Iterator<Item = CaptureId> {
        self.streams
            .values()
            .filter(move |stream| stream.device == device && stream.blocks_legacy())
            .filter_map(|stream| stream.capture)
    }

    /// Adds work to the stream's capture, if there is one.
    pub(super) fn captured(&mut self, id: StreamId, work: &Work) -> Result<bool, QueueError> {
        let Some(capture) = self.capturing(id)? else { return Ok(false) };
        self.capture_with(capture, id, |graph, after| vec![graph.push(work.clone(), after)]);
        Ok(true)
    }

    /// Adds nodes after the stream's current nodes in the capture. `add` returns the nodes that the
    /// stream's next node depends on.
    pub(super) fn capture_with(
        &mut self,
        capture: CaptureId,
        id: StreamId,
        add: impl FnOnce(&mut Graph, Vec<usize>) -> Vec<usize>,
    ) {
        if let Some(capture) = self.captures.active.get_mut(&capture) {
            let after = capture.frontiers.remove(&id).unwrap_or_default();
            let frontier = add(&mut capture.graph, after);
            capture.frontiers.insert(id, frontier);
        }
    }

    /// Makes a stream, which may already be part of the capture, depend on some of its nodes.
    pub(super) fn join_capture(
        &mut self,
        id: StreamId,
        capture: CaptureId,
        nodes: Vec<usize>,
    ) -> Result<(), QueueError> {
        let stream = self.stream(id)?;
        if self.devices[stream.device].legacy == id {
            self.captures.invalidate(capture);
            return Err(QueueError::CaptureImplicit);
        }
        let other = stream.capture.filter(|&other| other != capture);
        let Some(active) = self.captures.active.get_mut(&capture) else { return Err(QueueError::CapturedEvent) };
        if let Some(other) = other {
            active.invalid = true;
            self.captures.invalidate(other);
            return Err(QueueError::CaptureMerge);
        }
        if active.invalid {
            return Err(QueueError::CaptureInvalidated);
        }
        let frontier = active.frontiers.entry(id).or_default();
        let known: HashSet<usize> = frontier.iter().copied().collect();
        frontier.extend(nodes.into_iter().filter(|node| !known.contains(node)));
        self.set_capture(id, Some(capture));
        Ok(())
    }

    /// Refuses a wait for a capturing stream. The capture becomes invalid.
    pub(super) fn refuse_wait_in_capture(&mut self, id: StreamId) -> Result<(), QueueError> {
        let stream = self.stream(id)?;
        if let Some(capture) = stream.capture {
            self.captures.invalidate(capture);
            return Err(QueueError::CaptureUnsupported);
        }
        if !self.captures.active.is_empty() && self.devices[stream.device].legacy == id {
            self.refuse_legacy(stream.device)?;
        }
        Ok(())
    }
}
