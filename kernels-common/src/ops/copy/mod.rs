//! Moving elements between layouts.

use crate::key::Key;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Src};

/// The kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, _dtypes: &[DType]) -> Vec<Key> {
    Vec::new()
}

pub(crate) fn copy_into<R: GpuRuntime>(
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (src, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::Copy, dst.dtype())))
}
