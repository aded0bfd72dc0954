//! Models of candle-transformers on the device: close to candle's CPU, and with portable numerics
//! the same bits on every device.

use anyhow::{Result, ensure};
use candle_core::quantized::GgmlDType;
use candle_core::{D, DType, Device, Tensor};
use isobit_candle_proofs::models::{self, FLOAT, LANGUAGE, WIDE};
use isobit_candle_proofs::{compare, device};

/// The relative error against candle's CPU, of the largest magnitude of the result.
const BOUND: f64 = 1e-4;

fn holds(name: &str, on_device: &[Tensor], device: &Device, on_host: &[Tensor], bound: f64) -> Result<()> {
    ensure!(on_device.len() == on_host.len());
    for (i, (result, expected)) in on_device.iter().zip(on_host).enumerate() {
        compare::close(&format!("{name} {i}"), result, expected, bound)?;
    }
    compare::same_bits(name, device, &on_device.iter().collect::<Vec<_>>())
}

fn float(name: &str) -> Result<()> {
    let mut all = FLOAT.iter().chain(WIDE);
    let (_, model) = all.find(|(known, _)| *known == name).expect("a model of the lists");
    let device = device()?;
    holds(&format!("{name} f32"), &model(DType::F32, &device)?, &device, &model(DType::F32, &Device::Cpu)?, BOUND)
}

macro_rules! models {
    ($(#[$attribute:meta])* $($name:ident)*) => { models! { @each [$(#[$attribute])*] $($name)* } };
    (@each $attributes:tt $($name:ident)*) => { $(models! { @one $attributes $name })* };
    (@one [$(#[$attribute:meta])*] $name:ident) => {
        #[test]
        $(#[$attribute])*
        fn $name() -> Result<()> {
            float(stringify!($name))
        }
    };
}
models! { llama qwen3 qwen3_moe bert whisper resnet18 unet vae mamba t5 }
models! { #[ignore = "real widths take minutes on a simulated GPU"] llama_8b_layer bert_base resnet50 }

/// bf16 rounds each result to 8 bits, so only its bits are compared, and that it is near f32.
#[test]
fn llama_bf16() -> Result<()> {
    let device = device()?;
    let result = models::llama(DType::BF16, &device)?;
    holds("llama bf16", &result, &device, &models::llama(DType::F32, &Device::Cpu)?, 0.1)
}

/// The likeliest token is the same wherever it is likelier than the next one by more than the
/// bound.
#[test]
fn greedy_tokens() -> Result<()> {
    for (name, model) in LANGUAGE {
        let (ours, theirs) = (model(DType::F32, &device()?)?, model(DType::F32, &Device::Cpu)?);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let mut sorted: Vec<f32> = theirs.to_vec1()?;
            sorted.sort_by(|a, b| b.total_cmp(a));
            let largest = sorted.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            if f64::from(sorted[0] - sorted[1]) > 2.0 * BOUND * f64::from(largest) {
                let token = |logits: &Tensor| logits.argmax(D::Minus1)?.to_scalar::<u32>();
                ensure!(token(ours)? == token(theirs)?, "{name}: another token");
            }
        }
    }
    Ok(())
}

/// candle's CPU quantizes the activations of each format in its own way (to q8_0 or q8_K), and
/// Isobit to q8_1: 8 bits with one scale for 32 or 256 values, so results differ by about 1/127 of
/// the largest activation of a block.
const QUANTIZED: f64 = 0.05;

fn quantized(name: &str, format: GgmlDType) -> Result<()> {
    let device = device()?;
    let on_device = models::quantized_llama(format, &device)?;
    holds(&format!("llama {name}"), &on_device, &device, &models::quantized_llama(format, &Device::Cpu)?, QUANTIZED)?;
    let on_device = models::quantized_qwen3_moe(format, &device)?;
    holds(&format!("moe {name}"), &on_device, &device, &models::quantized_qwen3_moe(format, &Device::Cpu)?, QUANTIZED)
}

#[test]
fn quantized_q4_0() -> Result<()> {
    quantized("q4_0", GgmlDType::Q4_0)
}

#[test]
fn quantized_q4_k() -> Result<()> {
    quantized("q4_k", GgmlDType::Q4K)
}

#[test]
fn quantized_q6_k() -> Result<()> {
    quantized("q6_k", GgmlDType::Q6K)
}

#[test]
fn quantized_q8_0() -> Result<()> {
    quantized("q8_0", GgmlDType::Q8_0)
}
