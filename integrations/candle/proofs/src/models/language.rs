//! Decoders: logits of a prompt, then of tokens that are given one by one. The tokens are the same
//! on every device, so that one different choice does not make all later logits differ.

use crate::weights::{seeded, tokens};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::Activation;
use candle_transformers::models::{llama as l, qwen3 as q, qwen3_moe as m};

const VOCABULARY: usize = 128;
const PROMPT: usize = 7;
const DECODED: usize = 4;

/// Runs a prompt and then single tokens.
pub fn decode(
    name: &str,
    vocabulary: usize,
    device: &Device,
    mut forward: impl FnMut(&Tensor, usize) -> Result<Tensor>,
) -> Result<Vec<Tensor>> {
    let all = tokens(name, (1, PROMPT + DECODED), vocabulary, device)?;
    let mut logits = vec![forward(&all.narrow(1, 0, PROMPT)?, 0)?];
    for at in PROMPT..PROMPT + DECODED {
        logits.push(forward(&all.narrow(1, at, 1)?, at)?);
    }
    logits.into_iter().map(|l| l.flatten_all()).collect()
}

/// Llama with grouped queries.
///
/// # Errors
/// Those of the device.
pub fn llama(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = l::Config {
        hidden_size: 64,
        intermediate_size: 96,
        vocab_size: VOCABULARY,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 64,
        tie_word_embeddings: false,
    };
    let model = l::Llama::load(seeded(dtype, device), &config)?;
    let mut cache = l::Cache::new(true, dtype, &config, device)?;
    decode("llama", VOCABULARY, device, |ids, at| model.forward(ids, at, &mut cache))
}

/// Qwen 3, dense.
///
/// # Errors
/// Those of the device.
pub fn qwen3(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = q::Config {
        vocab_size: VOCABULARY,
        hidden_size: 64,
        intermediate_size: 96,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        head_dim: 16,
        attention_bias: false,
        num_key_value_heads: 2,
        max_position_embeddings: 64,
        sliding_window: None,
        max_window_layers: 2,
        tie_word_embeddings: true,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
        use_sliding_window: false,
        hidden_act: Activation::Silu,
    };
    let mut model = q::ModelForCausalLM::new(&config, seeded(dtype, device))?;
    decode("qwen3", VOCABULARY, device, |ids, at| model.forward(ids, at))
}

/// Qwen 3 with a mixture of experts.
///
/// # Errors
/// Those of the device.
pub fn qwen3_moe(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let config = m::Config {
        vocab_size: VOCABULARY,
        hidden_size: 64,
        intermediate_size: 96,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        head_dim: 16,
        attention_bias: false,
        num_key_value_heads: 2,
        max_position_embeddings: 64,
        sliding_window: None,
        max_window_layers: 2,
        tie_word_embeddings: false,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
        use_sliding_window: false,
        hidden_act: Activation::Silu,
        decoder_sparse_step: 1,
        moe_intermediate_size: 32,
        num_experts_per_tok: 2,
        num_experts: 4,
        norm_topk_prob: true,
    };
    let mut model = m::ModelForCausalLM::new(&config, seeded(dtype, device))?;
    decode("qwen3_moe", VOCABULARY, device, |ids, at| model.forward(ids, at))
}
