//! BERT and ResNet in f16, with random weights.

use crate::{Row, Until, measure};
use anyhow::Result;
use candle_core::{DType, Device, Module as _, Result as CandleResult, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use candle_transformers::models::{bert as b, resnet as r};

/// Weights that the device itself draws.
struct Random;

impl SimpleBackend for Random {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> CandleResult<Tensor> {
        let fan_in: usize = shape.dims().iter().skip(1).product();
        match shape.dims() {
            [_] if name.ends_with("weight") || name.ends_with("running_var") => Tensor::ones(shape, dtype, device),
            [_] => Tensor::zeros(shape, dtype, device),
            _ => Tensor::randn(0f32, (1.0 / fan_in as f32).sqrt(), shape, device)?.to_dtype(dtype),
        }
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> CandleResult<Tensor> {
        candle_core::bail!("the shape of {name} is not known")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// Returns a builder of variables with random weights.
pub fn random(dtype: DType, device: &Device) -> VarBuilder<'static> {
    VarBuilder::from_backend(Box::new(Random), dtype, device.clone())
}

/// BERT base, 32 sentences of 128 tokens.
pub fn bert(device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let model = b::BertModel::load(random(DType::F16, device), &b::Config::default())?;
    let ids = Tensor::zeros((32, 128), DType::U32, device)?;
    let run = || model.forward(&ids, &ids, None).map(drop);
    row(measure("BERT base f16, 32 x 128", (32 * 128, "tokens"), Until::Done, device, run)?);
    Ok(())
}

/// ResNet-50, 64 images of 224 x 224.
pub fn resnet(device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let model = r::resnet50(1000, random(DType::F16, device))?;
    let images = Tensor::randn(0f32, 1.0, (64, 3, 224, 224), device)?.to_dtype(DType::F16)?;
    row(measure("ResNet-50 f16, 64 images", (64, "samples"), Until::Done, device, || {
        model.forward(&images).map(drop)
    })?);
    Ok(())
}
