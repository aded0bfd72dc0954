//! Models of real width, with one layer or a few.

use super::language::decode;
use crate::weights::{seeded, tensor, tokens};
use candle_core::{DType, Device, Module as _, Result, Tensor};
use candle_transformers::models::{bert as b, llama as l, resnet as r};

const VOCABULARY: usize = 4096;

/// One layer of Llama 3.1 8B, with a small vocabulary.
///
/// # Errors
/// Those of the device.
pub fn llama_8b_layer(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = l::Config {
        hidden_size: 4096,
        intermediate_size: 14336,
        vocab_size: VOCABULARY,
        num_hidden_layers: 1,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 500_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 64,
        tie_word_embeddings: true,
    };
    let model = l::Llama::load(seeded(dtype, device), &config)?;
    let mut cache = l::Cache::new(true, dtype, &config, device)?;
    decode("llama 8b", VOCABULARY, device, |ids, at| model.forward(ids, at, &mut cache))
}

/// Two layers of BERT base, with a small vocabulary.
///
/// # Errors
/// Those of the device.
pub fn bert_base(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = b::Config { vocab_size: VOCABULARY, num_hidden_layers: 2, ..Default::default() };
    let model = b::BertModel::load(seeded(dtype, device), &config)?;
    let ids = tokens("bert base", (2, 64), VOCABULARY, device)?;
    Ok(vec![model.forward(&ids, &ids.zeros_like()?, None)?])
}

/// ResNet-50 on an image of 224 x 224.
///
/// # Errors
/// Those of the device.
pub fn resnet50(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let model = r::resnet50(1000, seeded(dtype, device))?;
    let image = tensor("image", (1, 3, 224, 224), 1.0, 0.0, device)?.to_dtype(dtype)?;
    Ok(vec![model.forward(&image)?])
}
