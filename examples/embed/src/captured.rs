//! A step as a graph: its hundred operations cost one launch.

use crate::{Batch, Model, Workspace};
use anyhow::Result;
use isobit::{BackendDevice, Result as DeviceResult};
use std::sync::Arc;

/// The captured step of a model for batches of one size.
#[derive(Debug)]
pub struct Captured<D: BackendDevice>(isobit_examples::Captured<Workspace<D::Storage>>);

impl<D: BackendDevice> Captured<D> {
    /// Captures the step on a batch, for this batch and others of its size.
    ///
    /// # Errors
    /// The errors of [`Model::workspace`] and [`Model::forward`]; `CaptureViolation`.
    pub fn new(model: &Arc<Model<D>>, batch: &Batch) -> Result<Self> {
        let mut workspace = model.workspace(batch)?;
        model.forward(&mut workspace)?;
        let step = {
            let model = model.clone();
            move |workspace: &mut _| model.forward(workspace)
        };
        Ok(Self(isobit_examples::Captured::new(model.device(), workspace, step)?))
    }

    /// Replaces the inputs by those of a batch. The graph reads them from the same buffers.
    ///
    /// # Errors
    /// The errors of [`Workspace::set`].
    pub fn set(&mut self, batch: &Batch) -> Result<()> {
        self.0.workspace().set(batch)
    }

    /// Runs one step, like [`Model::forward`].
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn replay(&mut self) -> DeviceResult<()> {
        self.0.replay()
    }

    /// Returns the [embeddings](Workspace::embeddings).
    ///
    /// # Errors
    /// The errors of [`Workspace::embeddings`].
    pub fn embeddings(&self) -> DeviceResult<Vec<Vec<f32>>> {
        self.0.workspace().embeddings()
    }
}
