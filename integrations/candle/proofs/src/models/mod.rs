//! Small models of candle-transformers. Each function loads one on a device and returns what it
//! computes from an input of its own.

mod diffusion;
mod language;
mod other;
mod quantized;
mod wide;

pub use diffusion::{unet, vae};
pub use language::{llama, qwen3, qwen3_moe};
pub use other::{bert, mamba, resnet18, t5, whisper};
pub use quantized::{gguf, quantized_llama, quantized_qwen3_moe};

use candle_core::{DType, Device, Result, Tensor};

/// A model: its name, and what it computes on a device in a dtype.
pub type Model = (&'static str, fn(DType, &Device) -> Result<Vec<Tensor>>);

/// The models that give logits of tokens.
pub const LANGUAGE: &[Model] = &[("llama", llama), ("qwen3", qwen3), ("qwen3_moe", qwen3_moe)];

/// Models of real width.
pub const WIDE: &[Model] =
    &[("llama_8b_layer", wide::llama_8b_layer), ("bert_base", wide::bert_base), ("resnet50", wide::resnet50)];

/// The models whose weights are floats.
pub const FLOAT: &[Model] = &[
    LANGUAGE[0],
    LANGUAGE[1],
    LANGUAGE[2],
    ("bert", bert),
    ("whisper", whisper),
    ("resnet18", resnet18),
    ("unet", unet),
    ("vae", vae),
    ("mamba", mamba),
    ("t5", t5),
];
