//! Comparisons and tests.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, dtype_of, run};
use crate::manifest::instances::compare::{carrier, exchanged, predicate_key};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{CmpOp, DType, Layout, Op, Predicate, Result, Src};

fn kernels(op: CmpOp, dtype: DType) -> Kernels {
    let (op, _) = exchanged(op);
    Kernels::with_rows(Key::new(Family::Compare, op.index(), &[carrier(op, dtype)], Key::CONTIGUOUS), 2)
}

fn predicate(op: Predicate, dtype: DType) -> Kernels {
    Kernels::new(predicate_key(op, dtype), 2)
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match *op {
        Op::Cmp(op) => kernels(op, dtypes[0]).keys(),
        Op::Predicate(op) => predicate(op, dtypes[0]).keys(),
        _ => Vec::new(),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dtype_of(srcs[0], dst);
    let function = match *op {
        Op::Cmp(function) => function,
        Op::Predicate(test) => return run(|| predicate(test, dtype), srcs, dst, dst_layout, &[]),
        _ => unreachable!("not an operation of the family"),
    };
    let operands = if exchanged(function).1 { [srcs[1], srcs[0]] } else { [srcs[0], srcs[1]] };
    run(|| kernels(function, dtype), &operands, dst, dst_layout, &[])
}
