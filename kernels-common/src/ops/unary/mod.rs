//! Functions of one argument.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, run};
use crate::manifest::instances::unary::carrier;
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src, UnaryOp};

/// Whether the operation returns elements of this dtype unchanged (rounding an integer).
fn is_copy(op: UnaryOp, dtype: DType) -> bool {
    dtype.is_int() && op.is_rounding()
}

fn kernels(op: UnaryOp, dtype: DType) -> Kernels {
    let key = Key::new(Family::Unary, op.index(), &[carrier(op, dtype)], Key::CONTIGUOUS);
    Kernels::of_function(key, dtype, !op.is_exact())
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match (op, dtypes) {
        (&Op::Unary(op), &[dtype, _]) if !is_copy(op, dtype) => kernels(op, dtype).keys(),
        _ => copy::keys(&Op::Copy, dtypes),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    let &Op::Unary(function) = op else { unreachable!("not an operation of the family") };
    if is_copy(function, dtype) {
        return copy::apply_into(op, srcs, dst, dst_layout);
    }
    run(|| kernels(function, dtype), srcs, dst, dst_layout, &[])
}
