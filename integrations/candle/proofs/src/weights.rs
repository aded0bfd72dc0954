//! Weights and inputs from a seed. They are made on the host by integer arithmetic, so they have
//! the same bits everywhere.

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use std::hash::Hasher as _;

/// Returns numbers in [-1, 1) that depend on a name alone: SplitMix64 (Steele, Lea and Flood 2014),
/// of which the upper 24 bits are taken.
pub fn uniform(name: &str, count: usize) -> Vec<f32> {
    let mut hasher = twox_hash::XxHash64::with_seed(0);
    hasher.write(name.as_bytes());
    let mut state = hasher.finish();
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(|_| (next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0).collect()
}

/// Returns a tensor of such numbers times `scale`, plus `offset`.
///
/// # Errors
/// Those of the device.
pub fn tensor(name: &str, shape: impl Into<Shape>, scale: f32, offset: f32, device: &Device) -> Result<Tensor> {
    let shape = shape.into();
    let values = uniform(name, shape.elem_count()).into_iter().map(|v| v * scale + offset).collect();
    Tensor::from_vec::<_, f32>(values, shape, device)
}

/// Returns token ids below `vocabulary`, which must be a power of two.
///
/// # Errors
/// Those of the device.
pub fn tokens(name: &str, shape: impl Into<Shape>, vocabulary: usize, device: &Device) -> Result<Tensor> {
    let shape = shape.into();
    let half = (vocabulary / 2) as f32;
    let ids: Vec<u32> = uniform(name, shape.elem_count()).into_iter().map(|v| ((v + 1.0) * half) as u32).collect();
    Tensor::from_vec(ids, shape, device)
}

/// Weights of any model: about as large as after training, so that activations neither vanish nor
/// grow.
struct Seeded;

impl SimpleBackend for Seeded {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let dims = shape.dims();
        let (scale, offset) = match dims {
            _ if name.ends_with("running_var") => (0.5, 1.0),
            [_] if name.ends_with("weight") => (0.1, 1.0),
            [] | [_] => (0.1, 0.0),
            // Uniform in ±sqrt(3 / fan in) has the variance 1 / fan in.
            [_, inner @ ..] => ((3.0 / inner.iter().product::<usize>() as f32).sqrt(), 0.0),
        };
        tensor(name, shape, scale, offset, device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("the shape of {name} is not known")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// Returns a builder of variables with weights from a seed.
pub fn seeded(dtype: DType, device: &Device) -> VarBuilder<'static> {
    VarBuilder::from_backend(Box::new(Seeded), dtype, device.clone())
}
