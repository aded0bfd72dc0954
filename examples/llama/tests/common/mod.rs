//! The tiny model with weights by a formula, which `reference.py` computes too.

use isobit::{BackendDevice, CpuDevice, DType, Numerics, Result};
use isobit_examples::memory::upload;
use isobit_llama::{Config, Model, Ranks};
use std::ops::Range;

/// Returns what a rank holds of the tiny model on the CPU.
pub fn tiny(dtype: DType, numerics: Numerics, ranks: Ranks<CpuDevice>) -> Model<CpuDevice> {
    Model::new(&CpuDevice, &Config::TINY, dtype, numerics, ranks, formula(dtype)).unwrap()
}

/// Returns a source of matrices whose elements are within 0.5, without a pattern.
fn formula(dtype: DType) -> impl FnMut([usize; 2], &[Range<usize>]) -> Result<<CpuDevice as BackendDevice>::Storage> {
    let mut matrix = 0;
    move |[_, inputs], rows| {
        matrix += 1;
        let elements = rows.iter().flat_map(|rows| rows.start * inputs..rows.end * inputs);
        upload(&CpuDevice, &elements.map(|i| element(matrix, i as u32)).collect::<Vec<_>>(), dtype)
    }
}

fn element(matrix: u32, i: u32) -> f32 {
    let mut bits = i.wrapping_mul(0x9e37_79b1) ^ matrix.wrapping_mul(0x85eb_ca77);
    bits = (bits ^ bits >> 15).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ bits >> 13).wrapping_mul(0xc2b2_ae35);
    bits ^= bits >> 16;
    // 24 bits: no rounding.
    (bits >> 8) as f32 / (1 << 24) as f32 - 0.5
}
