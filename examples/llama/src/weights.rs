//! Random weights, the same on every device.

use isobit::{BackendDevice, BackendStorage, DType, Layout, Op, RandNormal, Result};

/// The standard deviation that Llama is initialised with.
const STD: f64 = 0.02;

/// Returns a source of matrices: normally distributed numbers, each matrix the next ones of the
/// portable generator's sequence.
pub fn random<D: BackendDevice>(device: &D, dtype: DType, seed: u64) -> impl FnMut(usize) -> Result<D::Storage> {
    let (device, mut offset) = (device.clone(), 0);
    move |elements| {
        let mut matrix = device.zeros(&elements.into(), dtype)?;
        let draw = Op::RandNormal(RandNormal::new(0.0, STD).at(seed, offset));
        D::Storage::apply_into(&draw, &[], &mut matrix, &Layout::contiguous(elements))?;
        offset += elements as u64;
        Ok(matrix)
    }
}
