//! Positions as results. They are below 2^32, and kernels write them as u32. If the destination is
//! i64, it becomes zeros first, and kernels write the low words.

use super::fill;
use crate::key::Key;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Scalar};

/// Returns the kernels that [`begin`] may launch for results of a dtype.
pub(super) fn keys(op: &Op, dst: DType) -> Vec<Key> {
    if words(op, dst) == 2 { fill::keys(op, &[dst]) } else { Vec::new() }
}

/// Returns the words of 32 bits per result, if the results are positions, else 1.
fn words(op: &Op, dst: DType) -> usize {
    let is_position = match op {
        Op::Reduce(reduce) => reduce.op.is_arg(),
        Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) | Op::AdaptiveArgMaxPool(_) => true,
        _ => matches!(op, Op::ArgSort(_) | Op::ArgTopK(_)),
    };
    if is_position && dst == DType::I64 { 2 } else { 1 }
}

/// Prepares a destination of positions. Returns by how much kernels multiply its strides.
///
/// # Errors
/// The errors of a fill.
pub(super) fn begin<R: GpuRuntime>(op: &Op, dst: &mut GpuStorage<R>, layout: &Layout) -> Result<usize> {
    let words = words(op, dst.dtype());
    if words == 2 {
        fill::apply_into(&Op::Fill(Scalar::I64(0)), &[], dst, layout)?;
    }
    Ok(words)
}
