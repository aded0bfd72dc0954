//! Functions of one argument.

use crate::elementwise::{Kernels, recipe_unroll, run};
use crate::key::{Family, Key};
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src, UnaryOp, validate};

/// True for what returns integers as they are.
fn is_copy(op: UnaryOp, dtype: DType) -> bool {
    dtype.is_int() && matches!(op, UnaryOp::Ceil | UnaryOp::Floor | UnaryOp::Round | UnaryOp::Trunc)
}

fn kernels(op: UnaryOp, dtype: DType) -> Kernels {
    let exact = !op.is_float_only() || matches!(op, UnaryOp::Sqrt | UnaryOp::Recip);
    let unroll = if exact { 2 } else { recipe_unroll(dtype) };
    Kernels::new(Key::new(Family::Unary, op.index(), &[dtype], Key::CONTIGUOUS), unroll)
}

/// The kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match (op, dtypes) {
        (&Op::Unary(op), &[dtype, _]) if !is_copy(op, dtype) => kernels(op, dtype).keys(),
        _ => copy::keys(&Op::Copy, dtypes),
    }
}

pub(crate) fn unary_into<R: GpuRuntime>(
    op: UnaryOp,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    if is_copy(op, dtype) {
        validate::elementwise(&Op::Unary(op), &[src], dst, dst_layout)?;
        return copy::copy_into(src, dst, dst_layout).map_err(|e| e.with_op(Op::Unary(op)));
    }
    run(&Op::Unary(op), || kernels(op, dtype), &[src], dst, dst_layout, &[])
}
