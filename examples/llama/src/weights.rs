//! Random weights, the same on every device.

use isobit::{BackendDevice, BackendStorage, DType, Layout, Op, RandNormal, Result};
use std::ops::Range;

/// The standard deviation that Llama is initialised with.
const STD: f64 = 0.02;

/// Returns a source of matrices: normally distributed numbers, each matrix the next ones of the
/// portable generator's sequence. Rows are drawn where they are in it, so a rank makes no others.
pub fn random<D: BackendDevice>(
    device: &D,
    dtype: DType,
    seed: u64,
) -> impl FnMut([usize; 2], &[Range<usize>]) -> Result<D::Storage> {
    let (device, mut offset) = (device.clone(), 0);
    move |[outputs, inputs], rows| {
        let elements = rows.iter().map(|rows| rows.len() * inputs).sum::<usize>();
        let mut matrix = device.zeros(&elements.into(), dtype)?;
        let mut at = 0;
        for rows in rows {
            let draw = Op::RandNormal(RandNormal::new(0.0, STD).at(seed, offset + (rows.start * inputs) as u64));
            let layout = Layout::contiguous_with_offset(rows.len() * inputs, at);
            D::Storage::apply_into(&draw, &[], &mut matrix, &layout)?;
            at += layout.elem_count();
        }
        offset += (outputs * inputs) as u64;
        Ok(matrix)
    }
}
