//! The model: a sequence of layers.

use crate::attention::Attention;
use crate::embeddings::Embeddings;
use crate::feed_forward::FeedForward;
use crate::pooling::Pooling;
use crate::weights::{Loader, Weights};
use crate::{Batch, Config, Workspace};
use anyhow::{Context, Result};
use isobit::{BackendDevice, DType, Matmul, Numerics, Result as DeviceResult};
use std::path::Path;

/// all-MiniLM-L6-v2 on a device.
#[derive(Debug)]
pub struct Model<D: BackendDevice> {
    device: D,
    config: Config,
    dtype: DType,
    product: Matmul,
    embeddings: Embeddings<D::Storage>,
    layers: Vec<Layer<D::Storage>>,
    pooling: Pooling<D::Storage>,
}

/// An encoder layer.
#[derive(Debug)]
struct Layer<S> {
    attention: Attention<S>,
    feed_forward: FeedForward<S>,
}

impl<D: BackendDevice> Model<D> {
    /// Loads the model from a folder to a device. `dtype` is the dtype of the computation: f32, f16
    /// or bf16. `numerics` are those of matrix products and attention, on every device the same:
    /// also on the CPU, which has no other default than portable numerics.
    ///
    /// # Errors
    /// Fails if a file is missing or invalid, or with the errors of the device.
    pub fn load(folder: &Path, device: &D, dtype: DType, numerics: Numerics) -> Result<Self> {
        let config = Config::load(folder)?;
        let path = folder.join("model.safetensors");
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let weights = Weights::parse(&bytes).with_context(|| path.display().to_string())?;
        let product = Matmul::with_numerics(numerics);
        let loader = Loader { device, weights: &weights, dtype, product };
        let layer = |number| {
            let name = format!("encoder.layer.{number}");
            Ok(Layer {
                attention: Attention::load(&loader, &format!("{name}.attention"), &config)?,
                feed_forward: FeedForward::load(&loader, &name, &config)?,
            })
        };
        Ok(Self {
            device: device.clone(),
            dtype,
            product,
            embeddings: Embeddings::load(&loader, &config)?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()?,
            pooling: Pooling::new(device, config.hidden_size, dtype)?,
            config,
        })
    }

    /// Returns the configuration of the model.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the device of the model.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the dtype of the computation.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Allocates buffers for a batch and for others of its size.
    ///
    /// # Errors
    /// The errors of [`Workspace::new`].
    pub fn workspace(&self, batch: &Batch) -> Result<Workspace<D::Storage>> {
        Workspace::new(&self.device, &self.config, self.dtype, self.product, batch)
    }

    /// Runs one step: embeds the batch that was [set](Workspace::set) in the workspace. The work is
    /// submitted to the device; reading the result waits for it.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, workspace: &mut Workspace<D::Storage>) -> DeviceResult<()> {
        self.embeddings.forward(workspace)?;
        for layer in &self.layers {
            layer.attention.forward(workspace)?;
            layer.feed_forward.forward(workspace)?;
        }
        self.pooling.forward(workspace)
    }

    /// Embeds sentences, given by their tokens, in steps of at most `most` sentences.
    ///
    /// # Errors
    /// The errors of [`workspace`](Self::workspace) and [`forward`](Self::forward); an id that is
    /// not in the vocabulary.
    pub fn embed(&self, sentences: &[Vec<u32>], most: usize) -> Result<Vec<Vec<f32>>> {
        let mut embeddings = Vec::with_capacity(sentences.len());
        for part in sentences.chunks(most) {
            let mut workspace = self.workspace(&Batch::new(part, self.config.pad_token_id)?)?;
            self.forward(&mut workspace)?;
            embeddings.extend(workspace.embeddings()?);
        }
        Ok(embeddings)
    }
}
