//! What every part of the model is made of: linear layers, layer norms, and the two together around
//! a residual connection.

use crate::weights::{Weights, upload};
use anyhow::Result;
use isobit::{BackendStorage, BinaryOp, DType, Layout, Matmul, Op, Result as DeviceResult, Src};

/// `x W^T + b`, the product and the bias apart: what follows the product takes the bias along in
/// its own pass.
#[derive(Debug)]
pub struct Linear<S> {
    weight: S,
    bias: S,
    inputs: usize,
    outputs: usize,
}

impl<S: BackendStorage> Linear<S> {
    /// The layer of a name.
    ///
    /// # Errors
    /// The file has no such tensors; those of the device.
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

    /// A layer of a weight, a row for each output as PyTorch keeps it, and a bias.
    ///
    /// # Errors
    /// Those of the device.
    pub fn new(device: &S::Device, weight: &[f32], bias: &[f32], dtype: DType) -> DeviceResult<Self> {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        Ok(Self { weight: upload(device, weight, dtype)?, bias: upload(device, bias, dtype)?, inputs, outputs })
    }

    /// `y = x W^T` of a number of rows. The weight stays as it is: its layout says that it is read
    /// transposed.
    ///
    /// # Errors
    /// Those of the device.
    pub fn product(&self, x: &S, y: &mut S, rows: usize) -> DeviceResult<()> {
        let weight = Layout::contiguous([self.outputs, self.inputs]).transpose(0, 1)?;
        let (from, to) = (Layout::contiguous([rows, self.inputs]), Layout::contiguous([rows, self.outputs]));
        S::matmul_into(Matmul::default(), x, &from, &self.weight, &weight, y, &to)
    }

    /// The bias, an element for each output.
    pub fn bias(&self) -> &S {
        &self.bias
    }

    /// The layouts of the outputs of a number of rows, and of the bias repeated along them.
    ///
    /// # Errors
    /// None for a layer that was loaded.
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
    /// The norm of a name, over rows of `size`.
    ///
    /// # Errors
    /// The file has no such tensors; those of the device.
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

    /// `y = norm(x)` of a number of rows.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forward(&self, x: &S, y: &mut S, rows: usize) -> DeviceResult<()> {
        let (layout, parameter) = (Layout::contiguous([rows, self.size]), Layout::contiguous(self.size));
        let inputs = [(x, &layout), (&self.weight, &parameter), (&self.bias, &parameter)].map(Src::from);
        S::apply_into(&Op::LayerNorm { eps: self.eps }, &inputs, y, &layout)
    }
}

/// How each half of an encoder layer ends: `hidden = norm(x W^T + b + hidden)`.
#[derive(Debug)]
pub struct Residual<S> {
    linear: Linear<S>,
    norm: LayerNorm<S>,
}

impl<S: BackendStorage> Residual<S> {
    /// The linear layer and the norm that go by the names `NAME.dense` and `NAME.LayerNorm`.
    ///
    /// # Errors
    /// The file has no such tensors; those of the device.
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

    /// Adds what becomes of `x` to `hidden`, by way of `sum`, a buffer of the size of `hidden`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forward(&self, x: &S, sum: &mut S, hidden: &mut S, rows: usize) -> DeviceResult<()> {
        self.linear.product(x, sum, rows)?;
        let (outputs, bias) = self.linear.outputs(rows)?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (self.linear.bias(), &bias).into(), sum, &outputs)?;
        S::binary_into(BinaryOp::Add, Src::InPlace, (&*hidden, &outputs).into(), sum, &outputs)?;
        self.norm.forward(sum, hidden, rows)
    }
}
