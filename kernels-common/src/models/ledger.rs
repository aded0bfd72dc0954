//! What the streams of a modelled device do, and the rules that they must keep.

use std::collections::BTreeMap;

/// The amount of work of each stream, by the stream's number, that something runs after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    fn advance(&mut self, stream: usize) -> u64 {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] += 1;
        self.0[stream]
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*theirs);
        }
    }

    fn covers(&self, other: &Self) -> bool {
        (0..other.0.len()).all(|stream| self.of(stream) >= other.0[stream])
    }
}

/// A piece of work: the stream and its position there.
type Work = (usize, u64);

/// What accessed a range of memory last.
#[derive(Debug, Default)]
struct Touched {
    write: Option<Work>,
    reads: Vec<Work>,
}

/// An access by a node of a graph.
type Node = (u64, Use);

/// How work uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It reads.
    Reads,
    /// It writes.
    Writes,
}

#[derive(Debug, Default)]
struct Event {
    clock: Clock,
    /// The capture that it was recorded in.
    capture: Option<usize>,
}

/// The rules of a device. A broken rule is an error, whose text says who met whom.
#[derive(Debug, Default)]
pub(super) struct Rules {
    streams: Vec<Clock>,
    captured: BTreeMap<usize, usize>,
    events: Vec<Event>,
    memory: BTreeMap<u64, Touched>,
    /// The nodes of each graph.
    graphs: Vec<Vec<Node>>,
    next: u64,
    /// The work that the host knows to be done.
    done: Clock,
    /// The open handles of streams, events and graphs.
    pub(super) handles: usize,
}

/// The result of a call.
pub(super) type Kept<T = ()> = Result<T, String>;

impl Rules {
    pub(super) fn new_stream(&mut self) -> usize {
        self.handles += 1;
        self.streams.push(Clock::default());
        self.streams.len() - 1
    }

    pub(super) fn new_event(&mut self) -> usize {
        self.handles += 1;
        self.events.push(Event::default());
        self.events.len() - 1
    }

    pub(super) fn alloc(&mut self) -> u64 {
        self.next += 0x1000;
        self.memory.insert(self.next, Touched::default());
        self.next
    }

    /// Page-locked memory, which has an address of its own.
    pub(super) fn add(&mut self, ptr: u64) {
        self.memory.insert(ptr, Touched::default());
    }

    /// A vendor's free waits for all work.
    pub(super) fn free(&mut self, ptr: u64) -> Kept {
        for clock in &self.streams {
            self.done.join(clock);
        }
        self.memory.remove(&ptr).map(drop).ok_or_else(|| format!("{ptr:#x} is freed twice"))
    }

    /// The free of page-locked memory waits for nothing.
    pub(super) fn free_pinned(&mut self, ptr: u64) -> Kept {
        let touched = self.memory.remove(&ptr).ok_or_else(|| format!("{ptr:#x} is freed twice"))?;
        let pending = touched.write.iter().chain(&touched.reads).find(|(s, n)| self.done.of(*s) < *n);
        pending.map_or(Ok(()), |(s, _)| Err(format!("{ptr:#x} is freed while stream {s} may still copy")))
    }

    /// Work on a stream that uses memory.
    pub(super) fn work(&mut self, stream: usize, uses: &[Node]) -> Kept {
        if let Some(&graph) = self.captured.get(&stream) {
            self.streams[stream].advance(stream);
            self.graphs[graph].extend(uses);
            return Ok(());
        }
        let at = self.streams[stream].advance(stream);
        uses.iter().try_for_each(|&(ptr, how)| self.touch((stream, at), ptr, how))
    }

    fn touch(&mut self, (stream, at): Work, ptr: u64, how: Use) -> Kept {
        let Self { streams, done, memory, .. } = self;
        let touched = memory.get_mut(&ptr).ok_or_else(|| format!("stream {stream} uses {ptr:#x} after its free"))?;
        let after = |&(s, n): &Work| streams[stream].of(s) >= n || done.of(s) >= n;
        if let Some((other, _)) = touched.write.iter().find(|work| !after(work)) {
            return Err(format!("stream {stream} uses {ptr:#x} without waiting for the write of stream {other}"));
        }
        if how == Use::Reads {
            touched.reads.push((stream, at));
            return Ok(());
        }
        if let Some((other, _)) = touched.reads.iter().find(|work| !after(work)) {
            return Err(format!("stream {stream} writes {ptr:#x} without waiting for the read of stream {other}"));
        }
        *touched = Touched { write: Some((stream, at)), reads: Vec::new() };
        Ok(())
    }

    pub(super) fn record(&mut self, event: usize, stream: usize) {
        self.events[event] =
            Event { clock: self.streams[stream].clone(), capture: self.captured.get(&stream).copied() };
    }

    pub(super) fn wait(&mut self, stream: usize, event: usize) -> Kept {
        let Event { clock, capture } = &self.events[event];
        match (capture, self.captured.get(&stream)) {
            (None, Some(_)) => return Err(format!("captured stream {stream} waits for work outside its capture")),
            (Some(theirs), Some(own)) if theirs != own => {
                return Err(format!("captured stream {stream} waits for another capture"));
            }
            (Some(theirs), None) => drop(self.captured.insert(stream, *theirs)),
            _ => {}
        }
        self.streams[stream].join(clock);
        Ok(())
    }

    /// The host waits for a stream.
    pub(super) fn synchronize(&mut self, stream: usize) -> Kept {
        if self.captured.contains_key(&stream) {
            return Err(format!("the host waits for captured stream {stream}"));
        }
        self.done.join(&self.streams[stream]);
        Ok(())
    }

    /// The host waits for an event.
    pub(super) fn synchronize_event(&mut self, event: usize) -> Kept {
        let Event { clock, capture } = &self.events[event];
        if capture.is_some() {
            return Err("the host waits for an event of a capture".into());
        }
        self.done.join(clock);
        Ok(())
    }

    pub(super) fn is_over(&self, event: usize) -> bool {
        self.events[event].capture.is_none() && self.done.covers(&self.events[event].clock)
    }

    pub(super) fn is_idle(&self, stream: usize) -> bool {
        self.done.covers(&self.streams[stream])
    }

    pub(super) fn begin_capture(&mut self, stream: usize) -> Kept {
        self.graphs.push(Vec::new());
        let nested = self.captured.insert(stream, self.graphs.len() - 1).is_some();
        if nested { Err(format!("stream {stream} is captured twice")) } else { Ok(()) }
    }

    pub(super) fn is_captured(&self, stream: usize) -> bool {
        self.captured.contains_key(&stream)
    }

    pub(super) fn end_capture(&mut self, stream: usize) -> Kept<usize> {
        let graph = *self.captured.get(&stream).ok_or_else(|| format!("stream {stream} is not captured"))?;
        self.captured.retain(|_, of| *of != graph);
        self.handles += 1;
        Ok(graph)
    }

    pub(super) fn nodes(&self, graph: usize) -> usize {
        self.graphs[graph].len()
    }

    pub(super) fn launch(&mut self, stream: usize, graph: usize) -> Kept {
        if self.captured.contains_key(&stream) {
            return Err(format!("a graph is launched on captured stream {stream}"));
        }
        let nodes = self.graphs[graph].clone();
        let at = self.streams[stream].advance(stream);
        nodes.into_iter().try_for_each(|(ptr, how)| self.touch((stream, at), ptr, how))
    }

    /// What a closed device has left over.
    pub(super) fn left(&self) -> (usize, usize) {
        (self.memory.len(), self.handles)
    }
}
