//! A step as a graph: its hundreds of operations cost one launch.

use isobit::{BackendDevice, Graph, Result};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// A captured step, and the buffers that it works on.
#[derive(Debug)]
pub struct Captured<W> {
    /// Shared with the graph's step, which writes them when the step is captured again or the
    /// device has no graphs.
    workspace: Arc<Mutex<W>>,
    graph: Graph,
}

impl<W: Send + 'static> Captured<W> {
    /// Captures `step` on the buffers. It must have run before: loading kernels and opening
    /// libraries cannot be captured.
    ///
    /// # Errors
    /// `CaptureViolation`; the errors of the step.
    pub fn new<D: BackendDevice>(
        device: &D,
        workspace: W,
        step: impl Fn(&mut W) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        device.synchronize()?;
        let workspace = Arc::new(Mutex::new(workspace));
        let shared = workspace.clone();
        let graph = device.capture(move || step(&mut shared.lock()))?;
        Ok(Self { workspace, graph })
    }

    /// Runs the step once.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn replay(&mut self) -> Result<()> {
        self.graph.replay()
    }

    /// Returns the buffers, to set inputs and to read results. Those of a failed step are
    /// overwritten by the next one.
    pub fn workspace(&self) -> MutexGuard<'_, W> {
        self.workspace.lock()
    }
}
