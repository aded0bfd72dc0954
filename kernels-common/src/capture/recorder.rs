//! Recording a step: the thread's stream is captured while the step is called, and is as it was
//! afterwards, however the step ends.

use crate::capture::capture_gate::Capturing;
use crate::capture::graph::GraphResources;
use crate::capture::{self, Capture};
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::{GpuRuntime, RawGraph};
use crate::stream::GpuStream;
use isobit_hal::graph::Step;
use isobit_hal::{Result, trace};
use std::sync::Arc;

/// A step's work as the vendor's graph.
#[derive(Debug)]
pub(crate) struct Recorded<R: GpuRuntime> {
    graph: VendorGraph<R>,
    resources: GraphResources<R>,
    nodes: usize,
}

impl<R: GpuRuntime> Recorded<R> {
    /// The vendor's graph, which lives as long as this.
    pub(crate) fn raw(&self) -> RawGraph {
        self.graph.raw
    }

    /// What it needs to run, and how many nodes it has.
    pub(crate) fn take(self) -> (GraphResources<R>, usize) {
        (self.resources, self.nodes)
    }
}

#[derive(Debug)]
struct VendorGraph<R: GpuRuntime> {
    device: GpuDevice<R>,
    raw: RawGraph,
}

impl<R: GpuRuntime> Drop for VendorGraph<R> {
    fn drop(&mut self) {
        // SAFETY: the capture gave it to us, and it is destroyed once.
        unsafe { self.device.runtime().destroy_graph(self.raw) };
    }
}

/// Calls a step and records its work.
///
/// # Errors
/// Those of the step, else `CaptureViolation` and those of the driver.
pub(crate) fn record<R: GpuRuntime>(device: &GpuDevice<R>, step: &mut Step) -> Result<Recorded<R>> {
    let stream = device.stream().shared().clone();
    let span = tracing::debug_span!(
        target: trace::TARGET,
        "graph_capture",
        device = %device.location_of(),
        stream = stream.id().as_u64(),
        nodes = tracing::field::Empty,
    )
    .entered();
    let recording = Recording::begin(device, stream).on_device(device)?;
    // Where this fails or panics, `recording` ends the capture when it is dropped.
    step()?;
    let recorded = recording.end().on_device(device)?;
    span.record("nodes", recorded.nodes);
    Ok(recorded)
}

/// A capture that is going on.
struct Recording<R: GpuRuntime> {
    device: GpuDevice<R>,
    stream: Arc<GpuStream<R>>,
    capture: Arc<Capture<R>>,
    is_over: bool,
    _undisturbed: Capturing,
}

impl<R: GpuRuntime> Recording<R> {
    fn begin(device: &GpuDevice<R>, stream: Arc<GpuStream<R>>) -> Result<Self> {
        if stream.is_capturing() {
            return Err(capture::nested());
        }
        let capture = Arc::new(Capture::new(device));
        let undisturbed = Capturing::begin();
        device.begin_capture(&stream, &capture)?;
        Ok(Self { device: device.clone(), stream, capture, is_over: false, _undisturbed: undisturbed })
    }

    /// Ends the capture: the vendor's graph.
    fn stop(&mut self) -> Result<VendorGraph<R>> {
        self.is_over = true;
        let ended = self.device.runtime().end_capture(&self.stream);
        self.device.end_capture(&self.capture);
        ended.map(|raw| VendorGraph { device: self.device.clone(), raw })
    }

    fn end(mut self) -> Result<Recorded<R>> {
        let graph = self.stop()?;
        let resources = GraphResources::of(&self.capture);
        if let Some(faults) = resources.faults() {
            self.device.faults().begin(&self.device, &self.stream, faults)?;
        }
        // SAFETY: the graph lives.
        let nodes = unsafe { self.device.runtime().graph_nodes(graph.raw)? };
        Ok(Recorded { graph, resources, nodes })
    }
}

impl<R: GpuRuntime> Drop for Recording<R> {
    fn drop(&mut self) {
        if !self.is_over {
            // The step's own failure is what the caller hears of.
            drop(self.stop());
        }
    }
}
