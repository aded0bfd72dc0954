//! The feed-forward half of an encoder layer, which maps each token separately through a wider
//! vector.

use crate::layers::{Affine, LayerNorm, Residual};
use crate::weights::Loader;
use crate::{Config, Workspace};
use anyhow::Result;
use isobit::{Activation, BackendStorage, Op, Result as DeviceResult, Src};

/// Two linear layers with GELU between them.
#[derive(Debug)]
pub struct FeedForward<S> {
    widen: Affine<S>,
    output: Residual<S>,
}

impl<S: BackendStorage> FeedForward<S> {
    /// Loads the network of the layer with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(from: &Loader<'_, S::Device>, name: &str, config: &Config) -> Result<Self> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let affine = |part: &str, sizes| Affine::load(from, &format!("{name}.{part}.dense"), sizes);
        let norm = LayerNorm::load(from, &format!("{name}.output.LayerNorm"), config)?;
        Ok(Self {
            widen: affine("intermediate", [hidden, wide])?,
            output: Residual::new(affine("output", [wide, hidden])?, norm),
        })
    }

    /// Updates the hidden state of the workspace.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, w: &mut Workspace<S>) -> DeviceResult<()> {
        let rows = w.rows();
        self.widen.product(w.product, &w.hidden, &mut w.wide, rows)?;
        let (outputs, bias) = self.widen.outputs(rows)?;
        let activation = Op::AddActivation(Activation::GeluErf);
        S::apply_into(&activation, &[Src::InPlace, (self.widen.bias(), &bias).into()], &mut w.wide, &outputs)?;
        self.output.forward(w.product, &w.wide, [&mut w.sum, &mut w.next], &mut w.hidden, rows)
    }
}
