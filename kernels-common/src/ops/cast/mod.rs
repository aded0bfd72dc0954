//! Casts between dtypes.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, dtype_of, run};
use crate::manifest::instances::cast::{OTHER_RULE, OWN_RULE, carriers};
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, Cast, DType, Layout, Op, Result, Src};

fn kernels(op: Cast, from: DType, to: DType) -> Kernels {
    let rule = if op.is_own_rule(to) { OWN_RULE } else { OTHER_RULE };
    let (from, to) = carriers(from, to);
    Kernels::new(Key::new(Family::Cast, rule, &[from, to], Key::CONTIGUOUS), 2)
}

/// Converts elements to the dtype of the destination, by its own rule of overflow.
pub(crate) fn to_dtype_of<R: GpuRuntime>(
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
    src: &GpuStorage<R>,
    src_layout: &Layout,
) -> Result<()> {
    apply_into(&Op::Cast(Cast::default()), &[Src::Storage(src, src_layout)], dst, dst_layout)
}

fn parameters(op: &Op) -> Cast {
    let &Op::Cast(op) = op else { unreachable!("not an operation of the family") };
    op
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match dtypes {
        &[from, to] if from != to => kernels(parameters(op), from, to).keys(),
        _ => copy::keys(&Op::Copy, dtypes),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (from, to) = (dtype_of(srcs[0], dst), dst.dtype());
    if from == to {
        return copy::apply_into(op, srcs, dst, dst_layout);
    }
    let op = parameters(op);
    run(|| kernels(op, from, to), srcs, dst, dst_layout, &[])
}
