//! The products of a mixture of experts, on a device of Isobit and on the CPU, where candle has
//! none. This file is part of Isobit; `cargo xtask candle` puts it into candle-nn.
//!
//! `sorted_token_ids` are the rows of the result in the order of their experts, and `experts_ids`
//! the expert of each of them. Without `topk_weights`, `topk` rows of the result share one row of
//! the input; with them, each row of the result is scaled by its weight.

use candle::quantized::QTensor;
use candle::{DType, Result, Tensor};

/// Multiplies each row of `input` by the transpose of the matrix of its expert, `[experts, n, k]`.
pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
) -> Result<Tensor> {
    // The host decides which matrix multiplies which rows, as candle's models do without moe_gemm.
    let rows = sorted_token_ids.to_vec1::<u32>()?;
    let experts = experts_ids.to_vec1::<u32>()?;
    let shared = if topk_weights.is_some() { 1 } else { topk as u32 };
    let inputs: Vec<u32> = rows.iter().map(|row| row / shared).collect();
    let input = input.index_select(&Tensor::new(inputs, input.device())?, 0)?;
    let mut products = Vec::new();
    let mut start = 0;
    for group in experts.chunk_by(|a, b| a == b) {
        let weight = weights.get(group[0] as usize)?.t()?;
        products.push(input.narrow(0, start, group.len())?.matmul(&weight)?);
        start += group.len();
    }
    let mut place = vec![0u32; rows.len()];
    for (sorted, &row) in rows.iter().enumerate() {
        place[row as usize] = sorted as u32;
    }
    let product = Tensor::cat(&products, 0)?.index_select(&Tensor::new(place, input.device())?, 0)?;
    scaled(product, topk_weights)
}

/// Multiplies each row of `input` by the transpose of the quantized matrix of its expert.
#[allow(clippy::too_many_arguments)]
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    is_prefill: bool,
    _dtype: DType,
) -> Result<Tensor> {
    if input.dtype() != DType::F32 {
        candle::bail!("moe_gemm_gguf only accepts f32 inputs, not {:?}", input.dtype())
    }
    if !weights.device().is_cuda() {
        let weights = weights.dequantize(input.device())?;
        return moe_gemm(input, &weights, topk_weights, sorted_token_ids, experts_ids, topk, is_prefill);
    }
    let (rows, k) = input.dims2()?;
    let (_, n, _) = weights.shape().dims3()?;
    let count = experts_ids.elem_count();
    let experts = experts_ids.zeros_like()?.scatter(sorted_token_ids, experts_ids, 0)?;
    let shared = if topk_weights.is_some() { 1 } else { topk };
    let experts = experts.reshape((rows, shared))?;
    let product = weights.indexed_moe_forward(&input.reshape((rows, 1, k))?, &experts)?;
    scaled(product.reshape((count, n))?, topk_weights)
}

/// Scales each row by its weight, in f32.
fn scaled(rows: Tensor, weights: &Option<Tensor>) -> Result<Tensor> {
    let Some(weights) = weights else {
        return Ok(rows);
    };
    let weights = weights.flatten_all()?.unsqueeze(1)?.to_dtype(DType::F32)?;
    rows.to_dtype(DType::F32)?.broadcast_mul(&weights)?.to_dtype(rows.dtype())
}
