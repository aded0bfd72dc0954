//! Functions of two arguments.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, run};
use crate::manifest::instances::binary::carrier;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, BinaryOp, DType, Layout, Op, Result, Src};

fn kernels(op: BinaryOp, dtype: DType) -> Kernels {
    Kernels::with_rows(Key::new(Family::Binary, op.index(), &[carrier(op, dtype)], Key::CONTIGUOUS), 2)
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match op {
        &Op::Binary(op) => kernels(op, dtypes[0]).keys(),
        _ => Vec::new(),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let &Op::Binary(function) = op else { unreachable!("not an operation of the family") };
    let dtype = dst.dtype();
    run(|| kernels(function, dtype), srcs, dst, dst_layout, &[])
}
