//! The building blocks of the model: linear layers, layer norms, and both combined with a residual
//! connection.

use crate::weights::Weights;
use anyhow::Result;
use isobit::{BackendStorage, BinaryOp, DType, Layout, Matmul, Op, Result as DeviceResult, Src};
use isobit_examples::memory::upload;

/// `x W^T + b`. The product and the bias are separate, because the operation after the product adds
/// the bias in its own pass.
#[derive(Debug)]
pub struct Linear<S> {
    weight: S,
    bias: S,
    inputs: usize,
    outputs: usize,
}

impl<S: BackendStorage> Linear<S> {
    /// Loads the layer with a name.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(
        device: &S::Device,
        weights: &Weights<'_>,
        name: &str,
        [inputs, outputs]: [usize; 2],
        dtype: DType,
    ) -> Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = weights.get(&format!("{name}.bias"), &[outputs])?;
        Ok(Self::new(device, &weight, &bias, dtype)?)
    }

    /// Creates a layer from a bias and a weight with one row per output, as in PyTorch.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new(device: &S::Device, weight: &[f32], bias: &[f32], dtype: DType) -> DeviceResult<Self> {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        Ok(Self { weight: upload(device, weight, dtype)?, bias: upload(device, bias, dtype)?, inputs, outputs })
    }

    /// Computes `y = x W^T` for `rows` rows, with the numerics of `op`. The weight is not copied: a
    /// transposed layout reads it.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn product(&self, op: Matmul, x: &S, y: &mut S, rows: usize) -> DeviceResult<()> {
        let weight = Layout::contiguous([self.outputs, self.inputs]).transpose(0, 1)?;
        let (from, to) = (Layout::contiguous([rows, self.inputs]), Layout::contiguous([rows, self.outputs]));
        S::matmul_into(op, x, &from, &self.weight, &weight, y, &to)
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
    /// Loads the norm with a name, over rows of `size` elements.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(
        device: &S::Device,
        weights: &Weights<'_>,
        name: &str,
        size: usize,
        eps: f64,
        dtype: DType,
    ) -> Result<Self> {
        let parameter = |which: &str| {
            let elements = weights.get(&format!("{name}.{which}"), &[size])?;
            Ok::<_, anyhow::Error>(upload(device, &elements, dtype)?)
        };
        Ok(Self { weight: parameter("weight")?, bias: parameter("bias")?, size, eps })
    }

    /// Computes `y = norm(x)` for `rows` rows.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, x: &S, y: &mut S, rows: usize) -> DeviceResult<()> {
        let (layout, parameter) = (Layout::contiguous([rows, self.size]), Layout::contiguous(self.size));
        let inputs = [(x, &layout), (&self.weight, &parameter), (&self.bias, &parameter)].map(Src::from);
        S::apply_into(&Op::LayerNorm { eps: self.eps }, &inputs, y, &layout)
    }
}

/// The end of each half of an encoder layer: `hidden = norm(x W^T + b + hidden)`.
#[derive(Debug)]
pub struct Residual<S> {
    linear: Linear<S>,
    norm: LayerNorm<S>,
}

impl<S: BackendStorage> Residual<S> {
    /// Loads the linear layer `NAME.dense` and the norm `NAME.LayerNorm`.
    ///
    /// # Errors
    /// Fails if the file lacks a tensor, or with the errors of the device.
    pub fn load(
        device: &S::Device,
        weights: &Weights<'_>,
        name: &str,
        [inputs, outputs]: [usize; 2],
        eps: f64,
        dtype: DType,
    ) -> Result<Self> {
        Ok(Self {
            linear: Linear::load(device, weights, &format!("{name}.dense"), [inputs, outputs], dtype)?,
            norm: LayerNorm::load(device, weights, &format!("{name}.LayerNorm"), outputs, eps, dtype)?,
        })
    }

    /// Adds the transformed `x` to `hidden`, with the numerics of `op`. `sum` is a temporary buffer
    /// of the size of `hidden`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, op: Matmul, x: &S, sum: &mut S, hidden: &mut S, rows: usize) -> DeviceResult<()> {
        self.linear.product(op, x, sum, rows)?;
        let (outputs, bias) = self.linear.outputs(rows)?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (self.linear.bias(), &bias).into(), sum, &outputs)?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (&*hidden, &outputs).into(), sum, &outputs)?;
        self.norm.forward(sum, hidden, rows)
    }
}
