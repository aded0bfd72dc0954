//! Reductions over sets of dimensions.

use crate::key::Key;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result};

/// The kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, _dtypes: &[DType]) -> Vec<Key> {
    Vec::new()
}

pub(crate) fn reduce_into<R: GpuRuntime>(
    op: &isobit_hal::Reduce,
    src: &GpuStorage<R>,
    src_layout: &Layout,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (src, src_layout, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::Reduce(op.clone()), dst.dtype())))
}
