//! Records a step. The thread's stream is captured while the step runs and is restored afterwards,
//! also if the step fails or panics.

use crate::capture::capture_gate::Capturing;
use crate::capture::graph::GraphResources;
use crate::capture::{self, Capture};
use crate::device::{GpuDevice, OnDevice};
use crate::runtime::{GpuRuntime, RawGraph};
use crate::stream::GpuStream;
use isobit_hal::graph::Step;
use isobit_hal::{Result, trace};
use std::sync::Arc;

/// The work of a step as a vendor graph.
#[derive(Debug)]
pub(crate) struct Recorded<R: GpuRuntime> {
    graph: VendorGraph<R>,
    resources: GraphResources<R>,
    nodes: usize,
}

impl<R: GpuRuntime> Recorded<R> {
    /// Returns the vendor's graph, which lives as long as `self`.
    pub(crate) fn raw(&self) -> RawGraph {
        self.graph.raw
    }

    /// Takes the resources that the graph needs, and its number of nodes.
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
        // SAFETY: the capture returned this graph, and it is destroyed once.
        unsafe { self.device.runtime().destroy_graph(self.raw) };
    }
}

/// Runs a step and records its work.
///
/// # Errors
/// Returns the error of the step, `CaptureViolation` or the driver's error.
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
    // If this fails or panics, dropping `recording` ends the capture.
    step()?;
    let recorded = recording.end().on_device(device)?;
    span.record("nodes", recorded.nodes);
    Ok(recorded)
}

/// A running capture.
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

    /// Ends the capture and returns the vendor's graph.
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
        // SAFETY: the graph is alive.
        let nodes = unsafe { self.device.runtime().graph_nodes(graph.raw)? };
        Ok(Recorded { graph, resources, nodes })
    }
}

impl<R: GpuRuntime> Drop for Recording<R> {
    fn drop(&mut self) {
        if !self.is_over {
            // The caller gets the error of the step itself.
            drop(self.stop());
        }
    }
}
