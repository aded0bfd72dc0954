//! Selection by a condition.

use crate::key::{Family, Key};
use crate::launch::elementwise::{Kernels, carrier, dtype_of, run};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(cond: DType, values: DType) -> Kernels {
    Kernels::with_rows(Key::new(Family::Select, 0, &[cond, carrier(values)], Key::CONTIGUOUS), 2)
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    kernels(dtypes[0], dtypes[1]).keys()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    _op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let kernels = || kernels(dtype_of(srcs[0], dst), dst.dtype());
    run(kernels, srcs, dst, dst_layout, &[])
}
