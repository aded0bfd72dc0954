//! A step as a graph: its hundred operations at the cost of one launch.

use crate::{Batch, Model, Workspace};
use anyhow::Result;
use isobit::{BackendDevice, Graph, Result as DeviceResult};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// A model's step on batches of one size, captured.
#[derive(Debug)]
pub struct Captured<D: BackendDevice> {
    /// The graph's own step writes it too, when it is captured again or the device has no graphs.
    workspace: Arc<Mutex<Workspace<D::Storage>>>,
    graph: Graph,
}

impl<D: BackendDevice> Captured<D> {
    /// Captures the step on a batch, for it and others of its size.
    ///
    /// # Errors
    /// As [`Model::workspace`] and [`Model::forward`]; `CaptureViolation`.
    pub fn new(model: &Arc<Model<D>>, batch: &Batch) -> Result<Self> {
        let mut workspace = model.workspace(batch)?;
        // Done once before, so that kernels are loaded and libraries opened, which cannot be
        // captured.
        model.forward(&mut workspace)?;
        model.device().synchronize()?;
        let workspace = Arc::new(Mutex::new(workspace));
        let graph = model.device().capture({
            let (model, workspace) = (model.clone(), workspace.clone());
            move || model.forward(&mut lock(&workspace))
        })?;
        Ok(Self { workspace, graph })
    }

    /// Puts the inputs of a batch in place of the last ones. The graph reads them from where they
    /// lie; only a batch with padding after one without, or the other way round, is another step
    /// and captured anew.
    ///
    /// # Errors
    /// As [`Workspace::set`]; those of capturing.
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

    /// One step, as [`Model::forward`].
    ///
    /// # Errors
    /// Those of the device.
    pub fn replay(&mut self) -> DeviceResult<()> {
        self.graph.replay()
    }

    /// As [`Workspace::embeddings`].
    ///
    /// # Errors
    /// As there.
    pub fn embeddings(&self) -> DeviceResult<Vec<Vec<f32>>> {
        lock(&self.workspace).embeddings()
    }
}

/// A step that failed half way leaves buffers that the next one overwrites.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock()
}
