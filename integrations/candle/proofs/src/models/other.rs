//! Encoders, and models of images, sound and state.

use crate::weights::{seeded, tensor, tokens};
use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_transformers::models::{bert as b, mamba as m, resnet as r, t5 as t, whisper as w};

/// BERT on two sentences, of which one is padded.
///
/// # Errors
/// Those of the device.
pub fn bert(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = b::Config {
        vocab_size: 128,
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 64,
        max_position_embeddings: 32,
        ..Default::default()
    };
    let model = b::BertModel::load(seeded(dtype, device), &config)?;
    let ids = tokens("bert", (2, 9), 128, device)?;
    let mask = Tensor::new(&[[1u32; 9], [1, 1, 1, 1, 1, 0, 0, 0, 0]], device)?;
    Ok(vec![model.forward(&ids, &ids.zeros_like()?, Some(&mask))?])
}

/// Whisper: the encoded sound, and the logits of four tokens.
///
/// # Errors
/// Those of the device.
pub fn whisper(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = w::Config {
        num_mel_bins: 16,
        max_source_positions: 24,
        d_model: 32,
        encoder_attention_heads: 4,
        encoder_layers: 2,
        vocab_size: 128,
        max_target_positions: 16,
        decoder_attention_heads: 4,
        decoder_layers: 2,
        suppress_tokens: Vec::new(),
    };
    let mut model = w::model::Whisper::load(&seeded(dtype, device), config)?;
    let sound = tensor("sound", (1, 16, 48), 1.0, 0.0, device)?.to_dtype(dtype)?;
    let encoded = model.encoder.forward(&sound, true)?;
    let decoded = model.decoder.forward(&tokens("whisper", (1, 4), 128, device)?, &encoded, true)?;
    let logits = model.decoder.final_linear(&decoded)?;
    Ok(vec![encoded, logits])
}

/// ResNet-18 on two small images.
///
/// # Errors
/// Those of the device.
pub fn resnet18(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let model = r::resnet18(10, seeded(dtype, device))?;
    let images = tensor("images", (1, 3, 32, 32), 1.0, 0.0, device)?.to_dtype(dtype)?;
    Ok(vec![model.forward(&images)?])
}

/// Mamba, one token after the other.
///
/// # Errors
/// Those of the device.
pub fn mamba(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = m::Config { d_model: 32, n_layer: 2, vocab_size: 128, pad_vocab_size_multiple: 8 };
    let model = m::Model::new(&config, seeded(dtype, device).pp("backbone"))?;
    let mut state = m::State::new(1, &config, dtype, device)?;
    let ids = tokens("mamba", (5, 1), 128, device)?;
    (0..5).map(|at| model.forward(&ids.get(at)?, &mut state)).collect()
}

/// T5: the encoded sentence, and the logits of the first tokens.
///
/// # Errors
/// Those of the device.
pub fn t5(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = t::Config {
        vocab_size: 128,
        d_model: 32,
        d_kv: 8,
        d_ff: 64,
        num_layers: 2,
        num_heads: 4,
        ..Default::default()
    };
    let mut model = t::T5ForConditionalGeneration::load(seeded(dtype, device), &config)?;
    let encoded = model.encode(&tokens("t5", (1, 9), 128, device)?)?;
    let logits = model.decode(&tokens("t5 decoder", (1, 1), 128, device)?, &encoded)?;
    Ok(vec![encoded, logits])
}
