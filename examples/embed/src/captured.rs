//! A step as a graph: its hundred operations cost one launch.

use crate::{Batch, Model, Workspace};
use anyhow::Result;
use isobit::{BackendDevice, Graph, Result as DeviceResult};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// The captured step of a model for batches of one size.
#[derive(Debug)]
pub struct Captured<D: BackendDevice> {
    /// Shared with the graph's step, which writes it when the step is captured again or the device
    /// has no graphs.
    workspace: Arc<Mutex<Workspace<D::Storage>>>,
    graph: Graph,
}

impl<D: BackendDevice> Captured<D> {
    /// Captures the step on a batch, for this batch and others of its size.
    ///
    /// # Errors
    /// The errors of [`Model::workspace`] and [`Model::forward`]; `CaptureViolation`.
    pub fn new(model: &Arc<Model<D>>, batch: &Batch) -> Result<Self> {
        let mut workspace = model.workspace(batch)?;
        // Run once before the capture: loading kernels and opening libraries cannot be captured.
        model.forward(&mut workspace)?;
        model.device().synchronize()?;
        let workspace = Arc::new(Mutex::new(workspace));
        let graph = model.device().capture({
            let (model, workspace) = (model.clone(), workspace.clone());
            move || model.forward(&mut lock(&workspace))
        })?;
        Ok(Self { workspace, graph })
    }

    /// Replaces the inputs by those of a batch. The graph reads them from the same buffers. The
    /// step is captured again only if padding appears or disappears, because that changes the
    /// operations.
    ///
    /// # Errors
    /// The errors of [`Workspace::set`] and of capturing.
    pub fn set(&mut self, batch: &Batch) -> Result<()> {
        let mut workspace = lock(&self.workspace);
        let was_padded = workspace.padded;
        workspace.set(batch)?;
        let changed = workspace.padded != was_padded;
        drop(workspace);
        if changed {
            self.graph.update()?;
        }
        Ok(())
    }

    /// Runs one step, like [`Model::forward`].
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn replay(&mut self) -> DeviceResult<()> {
        self.graph.replay()
    }

    /// Returns the [embeddings](Workspace::embeddings).
    ///
    /// # Errors
    /// The errors of [`Workspace::embeddings`].
    pub fn embeddings(&self) -> DeviceResult<Vec<Vec<f32>>> {
        lock(&self.workspace).embeddings()
    }
}

/// Locks and ignores poisoning: the next step overwrites the buffers of a failed one.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock()
}
