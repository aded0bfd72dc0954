//! The building blocks of the model: linear layers, layer norms, and both combined with a residual
//! connection.

use crate::Config;
use crate::weights::Loader;
use anyhow::Result;
use isobit::{BackendStorage, Layout, Matmul, Op, Result as DeviceResult, Src};
use isobit_examples::Linear;

/// `x W^T + b`. The product and the bias are separate, because the operation after the product adds
/// the bias in its own pass.
#[derive(Debug)]
pub struct Affine<S> {
    linear: Linear<S>,
    bias: S,
    outputs: usize,
}

impl<S: BackendStorage> Affine<S> {
    /// Loads the layer with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(from: &Loader<'_, S::Device>, name: &str, [inputs, outputs]: [usize; 2]) -> Result<Self> {
        let weight = from.weights.get(&format!("{name}.weight"), &[outputs, inputs])?;
        Self::new(from, &weight, &from.weights.get(&format!("{name}.bias"), &[outputs])?)
    }

    /// Creates a layer from a bias and a weight with one row per output, as in PyTorch.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new(from: &Loader<'_, S::Device>, weight: &[f32], bias: &[f32]) -> Result<Self> {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        let linear = Linear::new(from.upload(weight)?, [inputs, outputs], from.product)?;
        Ok(Self { linear, bias: from.upload(bias)?, outputs })
    }

    /// Computes `y = x W^T` for `rows` rows, with the numerics of `op`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn product(&self, op: Matmul, x: &S, y: &mut S, rows: usize) -> DeviceResult<()> {
        self.linear.forward(op, x, y, rows)
    }

    /// Returns the bias, one element per output.
    pub fn bias(&self) -> &S {
        &self.bias
    }

    /// Returns the layouts of the outputs for `rows` rows, and of the bias broadcast along them.
    ///
    /// # Errors
    /// Never fails for a loaded layer.
    pub fn outputs(&self, rows: usize) -> DeviceResult<(Layout, Layout)> {
        let outputs = Layout::contiguous([rows, self.outputs]);
        let bias = Layout::contiguous(self.outputs).broadcast_as(outputs.shape())?;
        Ok((outputs, bias))
    }
}

/// A layer norm.
#[derive(Debug)]
pub struct LayerNorm<S> {
    weight: S,
    bias: S,
    size: usize,
    eps: f64,
}

impl<S: BackendStorage> LayerNorm<S> {
    /// Loads the norm with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(from: &Loader<'_, S::Device>, name: &str, config: &Config) -> Result<Self> {
        let (size, eps) = (config.hidden_size, config.layer_norm_eps);
        let parameter = |which: &str| from.load(&format!("{name}.{which}"), &[size]);
        Ok(Self { weight: parameter("weight")?, bias: parameter("bias")?, size, eps })
    }

    /// Computes `y = norm(x + x_bias + skip)`. `layout` is that of x and y.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, x: &S, x_bias: &S, skip: (&S, &Layout), y: &mut S, layout: &Layout) -> DeviceResult<()> {
        let parameter = Layout::contiguous(self.size);
        let [weight, bias, x_bias] = [&self.weight, &self.bias, x_bias].map(|p| (p, &parameter));
        let inputs = [(x, layout), skip, weight, bias, x_bias].map(Src::from);
        S::apply_into(&Op::SkipLayerNorm { eps: self.eps }, &inputs, y, layout)
    }
}

/// The end of each half of an encoder layer: `hidden = norm(x W^T + b + hidden)`.
#[derive(Debug)]
pub struct Residual<S> {
    affine: Affine<S>,
    norm: LayerNorm<S>,
}

impl<S: BackendStorage> Residual<S> {
    /// Combines both layers.
    pub fn new(affine: Affine<S>, norm: LayerNorm<S>) -> Self {
        Self { affine, norm }
    }

    /// Adds the transformed `x` to `hidden`, with the numerics of `op`. The other two are temporary
    /// buffers of its size: the product, and what `hidden` becomes.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(
        &self,
        op: Matmul,
        x: &S,
        [product, next]: [&mut S; 2],
        hidden: &mut S,
        rows: usize,
    ) -> DeviceResult<()> {
        self.affine.product(op, x, product, rows)?;
        let layout = Layout::contiguous([rows, self.norm.size]);
        self.norm.forward(product, self.affine.bias(), (hidden, &layout), next, &layout)?;
        // A step has an even number of these, so that it ends in the buffer that it began in.
        std::mem::swap(hidden, next);
        Ok(())
    }
}
