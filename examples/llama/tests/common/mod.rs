//! The tiny model with weights by a formula, which `reference.py` computes too.

use isobit::{BackendDevice, CpuDevice, DType, Numerics, Result};
use isobit_examples::memory::upload;
use isobit_llama::{Config, Model};

/// Returns the tiny model on the CPU.
pub fn tiny(dtype: DType, numerics: Numerics) -> Model<CpuDevice> {
    Model::new(&CpuDevice, &Config::TINY, dtype, numerics, formula(dtype)).unwrap()
}

/// Returns a source of matrices whose elements are within 0.5, without a pattern.
fn formula(dtype: DType) -> impl FnMut(usize) -> Result<<CpuDevice as BackendDevice>::Storage> {
    let mut matrix = 0;
    move |elements| {
        matrix += 1;
        upload(&CpuDevice, &(0..elements as u32).map(|i| element(matrix, i)).collect::<Vec<_>>(), dtype)
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
