//! Quantized models, from GGUF files that candle itself writes.

use super::language::decode;
use crate::weights::tensor;
use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use std::io::Cursor;

const VOCABULARY: usize = 128;
// A multiple of 256, the largest block.
const HIDDEN: usize = 256;
const HEADS: usize = 4;
const HEAD: usize = HIDDEN / HEADS;
const LAYERS: usize = 2;

/// Writes a Llama of one format, and returns the file.
///
/// # Errors
/// Those of candle.
pub fn gguf(format: GgmlDType) -> Result<Vec<u8>> {
    let cpu = Device::Cpu;
    let matrix = |name: &str, rows: usize, columns: usize| -> Result<(String, QTensor)> {
        let scale = (3.0 / columns as f32).sqrt();
        let values = tensor(name, (rows, columns), scale, 0.0, &cpu)?;
        Ok((name.to_string(), QTensor::quantize(&values, format)?))
    };
    let vector = |name: &str| -> Result<(String, QTensor)> {
        let values = tensor(name, HIDDEN, 0.1, 1.0, &cpu)?;
        Ok((name.to_string(), QTensor::quantize(&values, GgmlDType::F32)?))
    };
    let mut tensors = vec![
        matrix("token_embd.weight", VOCABULARY, HIDDEN)?,
        vector("output_norm.weight")?,
        matrix("output.weight", VOCABULARY, HIDDEN)?,
    ];
    for layer in 0..LAYERS {
        let name = |of: &str| format!("blk.{layer}.{of}.weight");
        tensors.push(matrix(&name("attn_q"), HIDDEN, HIDDEN)?);
        tensors.push(matrix(&name("attn_k"), HIDDEN / 2, HIDDEN)?);
        tensors.push(matrix(&name("attn_v"), HIDDEN / 2, HIDDEN)?);
        tensors.push(matrix(&name("attn_output"), HIDDEN, HIDDEN)?);
        tensors.push(matrix(&name("ffn_gate"), 2 * HIDDEN, HIDDEN)?);
        tensors.push(matrix(&name("ffn_up"), 2 * HIDDEN, HIDDEN)?);
        tensors.push(matrix(&name("ffn_down"), HIDDEN, 2 * HIDDEN)?);
        tensors.push(vector(&name("attn_norm"))?);
        tensors.push(vector(&name("ffn_norm"))?);
    }
    let number = |value: usize| Value::U32(value as u32);
    let metadata = [
        ("general.architecture", Value::String("llama".into())),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(HEADS / 2)),
        ("llama.block_count", number(LAYERS)),
        ("llama.embedding_length", number(HIDDEN)),
        ("llama.rope.dimension_count", number(HEAD)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
    ];
    let metadata: Vec<_> = metadata.iter().map(|(name, value)| (*name, value)).collect();
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &metadata, &tensors)?;
    Ok(file.into_inner())
}

/// Loads such a file and decodes.
///
/// # Errors
/// Those of the device.
pub fn quantized_llama(format: GgmlDType, device: &Device) -> Result<Vec<Tensor>> {
    let mut file = Cursor::new(gguf(format)?);
    let content = gguf_file::Content::read(&mut file)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, device)?;
    decode("quantized llama", VOCABULARY, device, |ids, at| model.forward(ids, at))
}

/// The products of a quantized mixture of experts, as candle's Qwen 3 MoE calls them.
///
/// # Errors
/// Those of the device.
pub fn quantized_qwen3_moe(format: GgmlDType, device: &Device) -> Result<Vec<Tensor>> {
    let (experts, tokens, top) = (4, 5, 2);
    let weight = |name: &str, n: usize, k: usize| -> Result<QTensor> {
        let values = tensor(name, (experts, n, k), (3.0 / k as f32).sqrt(), 0.0, &Device::Cpu)?;
        QTensor::quantize_onto(&values, format, device)
    };
    let x = tensor("moe input", (tokens, HIDDEN), 1.0, 0.0, device)?;
    let routing = tensor("routing", (tokens, experts), 1.0, 1.0, device)?;
    let chosen = routing.arg_sort_last_dim(false)?.narrow(1, 0, top)?.contiguous()?;
    let weights = routing.gather(&chosen, 1)?;
    let (of, rows) = chosen.flatten_all()?.sort_last_dim(true)?;
    let (up, down) = (weight("up", HIDDEN, HIDDEN)?, weight("down", HIDDEN, HIDDEN)?);
    let gemm = candle_nn::moe::moe_gemm_gguf;
    let inner = gemm(&x, &up, &None, &rows, &of, top, true, DType::BF16)?;
    let outer = gemm(&inner.silu()?, &down, &Some(weights), &rows, &of, top, true, DType::BF16)?;
    Ok(vec![inner, outer])
}
