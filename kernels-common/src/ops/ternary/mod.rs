//! Selection by a condition.

use crate::elementwise::{Kernels, carrier, dtype_of, run};
use crate::key::{Family, Key};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(cond: DType, values: DType) -> Kernels {
    Kernels::with_rows(Key::new(Family::Ternary, 0, &[cond, carrier(values)], Key::CONTIGUOUS), 2)
}

/// The kernels that the operation may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    kernels(dtypes[0], dtypes[1]).keys()
}

pub(crate) fn where_cond_into<R: GpuRuntime>(
    cond: Src<'_, GpuStorage<R>>,
    on_true: Src<'_, GpuStorage<R>>,
    on_false: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let kernels = || kernels(dtype_of(cond, dst), dst.dtype());
    run(&Op::WhereCond, kernels, &[cond, on_true, on_false], dst, dst_layout, &[])
}
