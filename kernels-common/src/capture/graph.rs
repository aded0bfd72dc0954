//! Graphs: a step is captured once and replayed, in order with the work of all streams.

use crate::capture::pool::CapturePool;
use crate::capture::recorder::{Recorded, record};
use crate::capture::{self, Capture};
use crate::device::{GpuDevice, OnDevice};
use crate::faults::GraphFaults;
use crate::memory::block::Block;
use crate::runtime::{GpuRuntime, RawGraphExec};
use crate::stream::GpuStream;
use crate::stream::dependencies::Access;
use isobit_hal::graph::{GraphBackend, Step};
use isobit_hal::{Graph, Result, trace};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The resources that a graph uses and keeps alive.
#[derive(Debug)]
pub(crate) struct GraphResources<R: GpuRuntime> {
    /// The memory that existed before the step, and how the step accesses it.
    blocks: Vec<(Arc<Block<R>>, Access)>,
    /// The memory that the step allocated.
    memory: Arc<CapturePool<R>>,
    /// The fault flags of operations with indices, if there are any.
    faults: Option<GraphFaults>,
}

impl<R: GpuRuntime> GraphResources<R> {
    /// Takes the resources of a finished capture.
    pub(crate) fn of(capture: &Capture<R>) -> Self {
        Self { blocks: capture.take_kept(), memory: capture.pool().clone(), faults: capture.take_faults() }
    }

    pub(crate) fn faults(&self) -> Option<&GraphFaults> {
        self.faults.as_ref()
    }

    /// Returns the blocks whose uses are recorded. Page-locked memory is always included, because
    /// the host accesses it.
    fn noted(&self, tracked: bool) -> impl Iterator<Item = (&Block<R>, Access)> {
        let blocks = self.blocks.iter().map(|(block, access)| (&**block, *access));
        blocks.filter(move |(block, _)| tracked || block.is_pinned())
    }

    /// Makes a stream wait until the graph can run on it.
    fn wait(&self, device: &GpuDevice<R>, stream: &GpuStream<R>, tracked: bool) -> Result<()> {
        for (block, access) in self.noted(tracked) {
            block.uses().wait(device, stream, access)?;
        }
        if tracked {
            self.memory.uses().wait(device, stream, Access::Write)?;
        }
        Ok(())
    }

    /// Records that the graph runs on a stream.
    fn note(&self, device: &GpuDevice<R>, stream: &GpuStream<R>, tracked: bool) -> Result<()> {
        if !tracked && self.noted(false).next().is_none() {
            return Ok(());
        }
        let point = device.mark(stream)?;
        for (block, access) in self.noted(tracked) {
            block.uses().note(device.runtime(), access, point.clone());
        }
        if tracked {
            self.memory.uses().note(device.runtime(), Access::Write, point);
        }
        Ok(())
    }
}

/// The vendor's executable graph.
#[derive(Debug)]
struct Exec<R: GpuRuntime> {
    device: GpuDevice<R>,
    raw: RawGraphExec,
}

impl<R: GpuRuntime> Exec<R> {
    fn new(device: &GpuDevice<R>, recorded: &Recorded<R>) -> Result<Self> {
        // SAFETY: the graph lives as long as `recorded`.
        let raw = unsafe { device.runtime().instantiate(recorded.raw()) };
        Ok(Self { device: device.clone(), raw: raw.on_device(device)? })
    }
}

impl<R: GpuRuntime> Drop for Exec<R> {
    fn drop(&mut self) {
        // SAFETY: the graph was created in `new` and is destroyed once.
        unsafe { self.device.runtime().destroy_graph_exec(self.raw) };
    }
}

/// The implementation of [`Graph`] for GPUs.
pub(crate) struct GpuGraph<R: GpuRuntime> {
    device: GpuDevice<R>,
    step: Step,
    // Declared before the resources it uses, so that it is dropped first.
    exec: Exec<R>,
    resources: GraphResources<R>,
    nodes: usize,
    /// The streams on which replays may still run.
    running: SmallVec<[Arc<GpuStream<R>>; 1]>,
}

impl<R: GpuRuntime> fmt::Debug for GpuGraph<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuGraph").field("device", &self.device.location_of()).field("nodes", &self.nodes).finish()
    }
}

impl<R: GpuRuntime> GpuGraph<R> {
    /// Captures a step on this thread's stream.
    ///
    /// # Errors
    /// Returns `CaptureViolation` or the error of the step.
    pub(crate) fn capture(device: &GpuDevice<R>, mut step: Step) -> Result<Graph> {
        let recorded = record(device, &mut step)?;
        let exec = Exec::new(device, &recorded)?;
        let (resources, nodes) = recorded.take();
        let graph = Self { device: device.clone(), step, exec, resources, nodes, running: SmallVec::new() };
        Ok(Graph::from_backend(Box::new(graph)))
    }

    /// Records that a replay runs on a stream.
    fn runs_on(&mut self, stream: &Arc<GpuStream<R>>) {
        /// Above this number of streams, idle ones are removed.
        const STREAMS: usize = 8;
        if self.running.iter().any(|known| Arc::ptr_eq(known, stream)) {
            return;
        }
        if self.running.len() >= STREAMS {
            let runtime = self.device.runtime();
            self.running.retain(|known| known.is_capturing() || !matches!(runtime.stream_is_idle(known), Ok(true)));
        }
        self.running.push(stream.clone());
    }
}

impl<R: GpuRuntime> GraphBackend for GpuGraph<R> {
    fn replay(&mut self) -> Result<()> {
        let device = self.device.clone();
        let stream = device.stream();
        if stream.is_capturing() {
            return Err(capture::replayed_in_capture("replaying a graph")).on_device(&self.device);
        }
        let _span = tracing::debug_span!(
            target: trace::TARGET,
            "graph_replay",
            device = %device.location_of(),
            nodes = self.nodes,
            stream = stream.id().as_u64(),
        )
        .entered();
        let several = !device.has_one_stream();
        self.resources.wait(&device, &stream, several && device.tracks_events())?;
        let launch = || {
            // SAFETY: `exec` is alive, and `resources` keeps the memory that its nodes use alive.
            unsafe { device.runtime().launch_graph(&stream, self.exec.raw) }
        };
        let launched = match &self.resources.faults {
            Some(faults) => device.faults().replay(faults, stream.id(), launch),
            None => launch(),
        };
        launched.on_device(&self.device)?;
        device.counts().graph_replays.add();
        self.runs_on(stream.shared());
        // As in `Order::after`: another stream may have been created in the meantime.
        let several = several || !device.has_one_stream();
        self.resources.note(&device, &stream, several && device.tracks_events())
    }

    fn update(&mut self) -> Result<()> {
        let device = self.device.clone();
        if device.stream().is_capturing() {
            return Err(capture::replayed_in_capture("updating a graph")).on_device(&self.device);
        }
        let recorded = record(&device, &mut self.step)?;
        for stream in &self.running {
            device.refuse_in_capture(stream, "updating a graph that ran on the stream")?;
            device.runtime().synchronize(stream).on_device(&self.device)?;
        }
        self.running.clear();
        // SAFETY: both graphs are alive, and all replays have finished.
        let updated = unsafe { device.runtime().update_graph(self.exec.raw, recorded.raw()) };
        if !updated.on_device(&self.device)? {
            self.exec = Exec::new(&device, &recorded)?;
        }
        (self.resources, self.nodes) = recorded.take();
        Ok(())
    }

    fn node_count(&self) -> usize {
        self.nodes
    }
}
