//! Stable Diffusion's networks, with few channels.

use crate::weights::{seeded, tensor};
use candle_core::{DType, Device, Result, Tensor};
use candle_transformers::models::stable_diffusion::unet_2d::{
    BlockConfig, UNet2DConditionModel, UNet2DConditionModelConfig,
};
use candle_transformers::models::stable_diffusion::vae::{AutoEncoderKL, AutoEncoderKLConfig};

/// The network that predicts the noise.
///
/// # Errors
/// Those of the device.
pub fn unet(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let block =
        |out_channels, attention| BlockConfig { out_channels, use_cross_attn: attention, attention_head_dim: 2 };
    let config = UNet2DConditionModelConfig {
        // Its attention normalizes groups of 32.
        blocks: vec![block(32, Some(1)), block(32, None)],
        layers_per_block: 1,
        norm_num_groups: 4,
        cross_attention_dim: 12,
        ..Default::default()
    };
    let model = UNet2DConditionModel::new(seeded(dtype, device), 4, 4, false, config)?;
    let latents = tensor("latents", (1, 4, 8, 8), 1.0, 0.0, device)?.to_dtype(dtype)?;
    let text = tensor("text", (1, 5, 12), 1.0, 0.0, device)?.to_dtype(dtype)?;
    Ok(vec![model.forward(&latents, 401.0, &text)?])
}

/// The autoencoder: the mean of the latents of an image, and an image from latents.
///
/// # Errors
/// Those of the device.
pub fn vae(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = AutoEncoderKLConfig {
        block_out_channels: vec![8, 16],
        layers_per_block: 1,
        latent_channels: 4,
        norm_num_groups: 4,
        use_quant_conv: true,
        use_post_quant_conv: true,
    };
    let model = AutoEncoderKL::new(seeded(dtype, device), 3, 3, config)?;
    let latents = tensor("latents", (1, 4, 4, 4), 1.0, 0.0, device)?.to_dtype(dtype)?;
    Ok(vec![model.decode(&latents)?])
}
