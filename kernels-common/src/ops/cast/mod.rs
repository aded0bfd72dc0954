//! Casts between dtypes.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, dtype_of, run};
use crate::manifest::instances::cast::carriers;
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(from: DType, to: DType) -> Kernels {
    let (from, to) = carriers(from, to);
    Kernels::new(Key::new(Family::Cast, 0, &[from, to], Key::CONTIGUOUS), 2)
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match dtypes {
        &[from, to] if from != to => kernels(from, to).keys(),
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
    run(|| kernels(from, to), srcs, dst, dst_layout, &[])
}
