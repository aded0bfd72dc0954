//! all-MiniLM-L6-v2 with its real weights: BERT in candle-transformers, on the device and on
//! candle's CPU. `ISOBIT_MINILM` names the folder of the model; `cargo xtask model` downloads it.

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use isobit_candle_proofs::{compare, device};
use std::path::Path;

/// Token ids of a sentence, with the marks of its begin and end, and of a shorter one that is
/// padded.
const IDS: [[u32; 8]; 2] = [[101, 1996, 4937, 4332, 2006, 1996, 13523, 102], [101, 7592, 2088, 102, 0, 0, 0, 0]];
const MASK: [[u32; 8]; 2] = [[1; 8], [1, 1, 1, 1, 0, 0, 0, 0]];

fn embeddings(folder: &Path, device: &Device) -> Result<Tensor> {
    let config = Config { hidden_size: 384, num_hidden_layers: 6, intermediate_size: 1536, ..Default::default() };
    let weights = std::fs::read(folder.join("model.safetensors")).context("the weights")?;
    let model = BertModel::load(VarBuilder::from_buffered_safetensors(weights, DType::F32, device)?, &config)?;
    let (ids, mask) = (Tensor::new(&IDS, device)?, Tensor::new(&MASK, device)?);
    let tokens = model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
    let mask = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
    Ok(tokens.broadcast_mul(&mask)?.sum(1)?.broadcast_div(&mask.sum(1)?)?)
}

#[test]
fn minilm_with_its_real_weights() -> Result<()> {
    let Some(folder) = std::env::var_os("ISOBIT_MINILM") else {
        println!("skipped: ISOBIT_MINILM names no folder; `cargo xtask model` downloads the model");
        return Ok(());
    };
    let (folder, device) = (Path::new(&folder), device()?);
    let result = embeddings(folder, &device)?;
    compare::close("minilm", &result, &embeddings(folder, &Device::Cpu)?, 1e-4)?;
    compare::same_bits("minilm", &device, &[&result])
}
