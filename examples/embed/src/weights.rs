//! The model's tensors: read from its safetensors file, and brought to a device.

use anyhow::{Context, Result, ensure};
use isobit::{BackendDevice, BackendStorage, DType, Layout};
use safetensors::{Dtype, SafeTensors};

/// The tensors of a safetensors file.
#[derive(Debug)]
pub struct Weights<'a>(SafeTensors<'a>);

impl<'a> Weights<'a> {
    /// The tensors of a file's bytes.
    ///
    /// # Errors
    /// The bytes are no such file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self(SafeTensors::deserialize(bytes).context("the weights are no safetensors file")?))
    }

    /// A tensor's elements, in row-major order.
    ///
    /// # Errors
    /// There is none of the name, or it has another shape or dtype.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.0.tensor(name).with_context(|| format!("the tensor {name}"))?;
        let found = (tensor.dtype(), tensor.shape());
        ensure!(found == (Dtype::F32, shape), "the tensor {name}: f32 of {shape:?} was looked for, it is {found:?}");
        let (elements, _) = tensor.data().as_chunks::<4>();
        Ok(elements.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }
}

/// Brings elements to a device, which rounds them to the dtype that the model computes in.
///
/// # Errors
/// Those of the device.
pub fn upload<D: BackendDevice>(device: &D, elements: &[f32], dtype: DType) -> isobit::Result<D::Storage> {
    let storage = device.storage_from_slice(elements)?;
    match dtype {
        DType::F32 => Ok(storage),
        _ => storage.to_dtype(&Layout::contiguous(elements.len()), dtype),
    }
}
