//! Fault flags of operations in graphs. A graph has its own flags; its replays set them and
//! synchronising calls read them.

use super::{CHUNK_BYTES, FLAGS, Flags, IndexFaults, Indexing};
use crate::device::GpuDevice;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::stream::GpuStream;
use isobit_hal::{Error, Result, StreamId};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

/// A graph's reference to its flags. The flags stay until the graph is dropped and its last replay
/// has been read.
#[derive(Debug, Clone)]
pub(crate) struct GraphFaults(Arc<()>);

/// Where the replays ran whose flags have not been read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replayed {
    Nowhere,
    On(StreamId),
    OnSeveral,
}

/// The flags of one graph.
#[derive(Debug)]
pub(super) struct OfGraph {
    graph: Arc<()>,
    flags: Flags,
    replayed: Replayed,
}

impl OfGraph {
    pub(super) fn is_unread(&self) -> bool {
        self.replayed != Replayed::Nowhere
    }

    fn is_gone(&self) -> bool {
        Arc::strong_count(&self.graph) == 1 && !self.is_unread()
    }

    pub(super) fn take_chunks(&mut self) -> Vec<DevicePtr> {
        std::mem::take(&mut self.flags.chunks)
    }

    /// Collects the faults that replays found, after waiting for one stream or for all of them.
    /// Returns whether flags were cleared.
    pub(super) fn read<R: GpuRuntime>(
        &mut self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        all_done: bool,
        found: &mut VecDeque<Error>,
    ) -> Result<bool> {
        if !self.is_unread() {
            return Ok(false);
        }
        let over = all_done || self.replayed == Replayed::On(stream.id());
        let cleared = self.flags.read(device, stream, (0, over), found)?;
        if over {
            self.replayed = Replayed::Nowhere;
        }
        Ok(cleared)
    }
}

impl IndexFaults {
    /// Returns a flag for a captured operation; it belongs to the graph that the capture creates.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(super) fn flag_of_graph<R: GpuRuntime>(
        &self,
        device: &GpuDevice<R>,
        faults: &OnceLock<GraphFaults>,
        indexing: Indexing,
    ) -> Result<DevicePtr> {
        let state = &mut *self.0.lock();
        let mut is_new = false;
        let GraphFaults(token) = faults.get_or_init(|| {
            is_new = true;
            GraphFaults(Arc::default())
        });
        if is_new {
            state.spare.extend(state.graphs.extract_if(.., |g| g.is_gone()).flat_map(|mut g| g.take_chunks()));
            state.graphs.push(OfGraph { graph: token.clone(), flags: Flags::default(), replayed: Replayed::Nowhere });
        }
        let graph = state.graphs.iter_mut().find(|g| Arc::ptr_eq(&g.graph, token));
        let OfGraph { flags, .. } = graph.expect("a graph's flags stay as long as it holds them");
        let i = flags.given.len();
        if i == flags.chunks.len() * FLAGS {
            let chunk = state.spare.pop().map_or_else(|| device.runtime().alloc(CHUNK_BYTES), Ok)?;
            flags.chunks.push(chunk);
        }
        flags.given.push(indexing);
        Ok(flags.at(i))
    }

    /// Clears the flags of a graph before its first replay, on whichever stream that runs.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn begin<R: GpuRuntime>(
        &self,
        device: &GpuDevice<R>,
        stream: &GpuStream<R>,
        GraphFaults(token): &GraphFaults,
    ) -> Result<()> {
        let state = self.0.lock();
        for graph in state.graphs.iter().filter(|g| Arc::ptr_eq(&g.graph, token)) {
            graph.flags.clear(device.runtime(), stream)?;
        }
        if device.has_one_stream() { Ok(()) } else { device.runtime().synchronize(stream) }
    }

    /// Launches a replay of a graph on a stream. No flag is read during the launch, so that no flag
    /// set by the replay is cleared.
    ///
    /// # Errors
    /// Returns the error of the launch.
    pub(crate) fn replay(
        &self,
        GraphFaults(token): &GraphFaults,
        stream: StreamId,
        launch: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut state = self.0.lock();
        launch()?;
        if let Some(graph) = state.graphs.iter_mut().find(|g| Arc::ptr_eq(&g.graph, token)) {
            graph.replayed = match graph.replayed {
                Replayed::On(other) if other != stream => Replayed::OnSeveral,
                Replayed::OnSeveral => Replayed::OnSeveral,
                _ => Replayed::On(stream),
            };
        }
        Ok(())
    }
}
