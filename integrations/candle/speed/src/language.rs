//! Llama in bf16 and Q4_K with random weights: a prompt of 512 tokens, and 128 tokens one by one,
//! each chosen from the logits as a program does.

use crate::models::random;
use crate::{Row, Until, measure};
use anyhow::Result;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value, VersionedMagic};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{D, DType, Device, Tensor};
use candle_transformers::models::{llama as l, quantized_llama as q};
use std::collections::HashMap;
use std::io::{Read, Result as IoResult, Seek, SeekFrom};

const PROMPT: usize = 512;
const DECODED: usize = 128;

/// The sizes of Llama 3.2 1B and Llama 3.1 8B.
struct Size {
    hidden: usize,
    inner: usize,
    layers: usize,
    heads: usize,
}

const KV_HEADS: usize = 8;
const VOCABULARY: usize = 128_256;

fn size(name: &str) -> Size {
    match name {
        "1b" => Size { hidden: 2048, inner: 8192, layers: 16, heads: 32 },
        _ => Size { hidden: 4096, inner: 14336, layers: 32, heads: 32 },
    }
}

/// Measures a prompt, and tokens after it.
fn generation(
    name: &str,
    device: &Device,
    row: &mut dyn FnMut(Row),
    mut forward: impl FnMut(&Tensor, usize) -> candle_core::Result<Tensor>,
) -> Result<()> {
    let prompt = Tensor::zeros((1, PROMPT), DType::U32, device)?;
    let likeliest = |logits: Tensor| logits.flatten_all()?.argmax(D::Minus1)?.to_scalar::<u32>();
    let prefill = || likeliest(forward(&prompt, 0)?).map(drop);
    row(measure(format!("{name}, prefill {PROMPT}"), (PROMPT, "tokens"), Until::Done, device, prefill)?);
    let decode = || {
        let mut token = likeliest(forward(&prompt, 0)?)?;
        for at in PROMPT..PROMPT + DECODED {
            token = likeliest(forward(&Tensor::new(&[[token]], device)?, at)?)?;
        }
        Ok(())
    };
    row(measure(
        format!("{name}, prefill {PROMPT} and decode {DECODED}"),
        (DECODED, "tokens"),
        Until::Done,
        device,
        decode,
    )?);
    Ok(())
}

/// Llama in bf16.
pub fn llama(name: &str, device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let Size { hidden, inner, layers, heads } = size(name);
    let config = l::Config {
        hidden_size: hidden,
        intermediate_size: inner,
        vocab_size: VOCABULARY,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: KV_HEADS,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 500_000.0,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 4096,
        tie_word_embeddings: name == "1b",
    };
    let model = l::Llama::load(random(DType::BF16, device), &config)?;
    let mut cache = l::Cache::new(true, DType::BF16, &config, device)?;
    generation(&format!("Llama {name} bf16"), device, row, |ids, at| {
        if at == 0 {
            cache = l::Cache::new(true, DType::BF16, &config, device)?;
        }
        model.forward(ids, at, &mut cache)
    })
}

/// A file of gigabytes in which every tensor consists of the same few blocks.
struct Repeated {
    blocks: Vec<u8>,
    ones: Vec<u8>,
    at: u64,
}

/// Tensors of ones are from here on.
const ONES: u64 = 1 << 40;

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let pattern = if self.at >= ONES { &self.ones } else { &self.blocks };
        let start = (self.at % ONES) as usize % pattern.len();
        let count = buffer.len().min(pattern.len() - start);
        buffer[..count].copy_from_slice(&pattern[start..][..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Repeated {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => u64::MAX.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

/// Llama in Q4_K.
pub fn quantized(name: &str, device: &Device, row: &mut dyn FnMut(Row)) -> Result<()> {
    let Size { hidden, inner, layers, heads } = size(name);
    let values = Tensor::randn(0f32, 0.02, (512, 256), &Device::Cpu)?;
    let blocks = QTensor::quantize(&values, GgmlDType::Q4K)?.data()?.into_owned();
    let mut file = Repeated { blocks, ones: 1f32.to_le_bytes().repeat(1 << 14), at: 0 };
    let mut tensors = HashMap::new();
    let mut add = |name: String, dims: &[usize]| {
        let quantized = dims.len() == 2;
        let (ggml_dtype, offset) = if quantized { (GgmlDType::Q4K, 0) } else { (GgmlDType::F32, ONES) };
        tensors.insert(name, TensorInfo { ggml_dtype, shape: dims.into(), offset });
    };
    let kv = hidden / heads * KV_HEADS;
    add("token_embd.weight".into(), &[VOCABULARY, hidden]);
    add("output_norm.weight".into(), &[hidden]);
    add("output.weight".into(), &[VOCABULARY, hidden]);
    for layer in 0..layers {
        for (of, dims) in [
            ("attn_q", &[hidden, hidden][..]),
            ("attn_k", &[kv, hidden]),
            ("attn_v", &[kv, hidden]),
            ("attn_output", &[hidden, hidden]),
            ("ffn_gate", &[inner, hidden]),
            ("ffn_up", &[inner, hidden]),
            ("ffn_down", &[hidden, inner]),
            ("attn_norm", &[hidden]),
            ("ffn_norm", &[hidden]),
        ] {
            add(format!("blk.{layer}.{of}.weight"), dims);
        }
    }
    let number = |value: usize| Value::U32(value as u32);
    let metadata = HashMap::from(
        [
            ("llama.attention.head_count", number(heads)),
            ("llama.attention.head_count_kv", number(KV_HEADS)),
            ("llama.block_count", number(layers)),
            ("llama.embedding_length", number(hidden)),
            ("llama.rope.dimension_count", number(hidden / heads)),
            ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ]
        .map(|(name, value)| (name.to_string(), value)),
    );
    let content = Content { magic: VersionedMagic::GgufV3, metadata, tensor_infos: tensors, tensor_data_offset: 0 };
    let mut model = q::ModelWeights::from_gguf(content, &mut file, device)?;
    generation(&format!("Llama {name} Q4_K"), device, row, |ids, at| model.forward(ids, at))
}
