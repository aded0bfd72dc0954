//! Activations of sums (bias + activation).

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, recipe_unroll, run};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{Activation, BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(op: Activation, dtype: DType) -> Kernels {
    Kernels::with_rows(Key::new(Family::BiasActivation, op.index(), &[dtype], Key::CONTIGUOUS), recipe_unroll(dtype))
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match op {
        &Op::AddActivation(op) => kernels(op, dtypes[0]).keys(),
        _ => Vec::new(),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::AddActivation(function) = op else { unreachable!("not an operation of the family") };
    let dtype = dst.dtype();
    run(|| kernels(function, dtype), srcs, dst, dst_layout, &[])
}
