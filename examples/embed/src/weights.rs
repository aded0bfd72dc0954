//! Reads the model's tensors from its safetensors file.

use anyhow::{Context, Result, ensure};
use isobit::{BackendDevice, DType, Matmul};
use isobit_examples::memory::upload;
use safetensors::{Dtype, SafeTensors};

/// The tensors of a safetensors file.
#[derive(Debug)]
pub struct Weights<'a>(SafeTensors<'a>);

impl<'a> Weights<'a> {
    /// Parses the bytes of a safetensors file.
    ///
    /// # Errors
    /// Fails if the bytes are not such a file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self(SafeTensors::deserialize(bytes).context("the weights are not a safetensors file")?))
    }

    /// Returns a tensor's elements in row-major order.
    ///
    /// # Errors
    /// Fails if there is no tensor with this name, or it has a different shape or dtype.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.0.tensor(name).with_context(|| format!("the tensor {name}"))?;
        let found = (tensor.dtype(), tensor.shape());
        ensure!(found == (Dtype::F32, shape), "the tensor {name}: expected f32 of {shape:?}, found {found:?}");
        let (elements, _) = tensor.data().as_chunks::<4>();
        Ok(elements.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }
}

/// Where layers get their tensors, and how they compute.
#[derive(Debug)]
pub struct Loader<'a, D> {
    /// The device of the model.
    pub device: &'a D,
    /// The model's file.
    pub weights: &'a Weights<'a>,
    /// The dtype of the computation.
    pub dtype: DType,
    /// Every matrix product, with the numerics of the model.
    pub product: Matmul,
}

impl<D: BackendDevice> Loader<'_, D> {
    /// Uploads a tensor.
    ///
    /// # Errors
    /// Those of [`Weights::get`] and of the device.
    pub fn load(&self, name: &str, shape: &[usize]) -> Result<D::Storage> {
        self.upload(&self.weights.get(name, shape)?)
    }

    /// Uploads elements.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn upload(&self, elements: &[f32]) -> Result<D::Storage> {
        Ok(upload(self.device, elements, self.dtype)?)
    }
}
