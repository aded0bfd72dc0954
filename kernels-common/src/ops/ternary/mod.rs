//! Selection by a condition.

use crate::key::Key;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Src};

/// The kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, _dtypes: &[DType]) -> Vec<Key> {
    Vec::new()
}

pub(crate) fn where_cond_into<R: GpuRuntime>(
    cond: Src<'_, GpuStorage<R>>,
    on_true: Src<'_, GpuStorage<R>>,
    on_false: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (cond, on_true, on_false, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::WhereCond, dst.dtype())))
}
