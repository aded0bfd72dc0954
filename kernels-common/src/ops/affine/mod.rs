//! Functions of one argument with scalar parameters.

use crate::key::Key;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Src};

/// The kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, _dtypes: &[DType]) -> Vec<Key> {
    Vec::new()
}

pub(crate) fn affine_into<R: GpuRuntime>(
    op: isobit_hal::Affine,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (src, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::Affine(op), dst.dtype())))
}

pub(crate) fn powf_into<R: GpuRuntime>(
    op: isobit_hal::Powf,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (src, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::Powf(op), dst.dtype())))
}

pub(crate) fn elu_into<R: GpuRuntime>(
    op: isobit_hal::Elu,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let _ = (src, dst_layout);
    Err(Error::new(ErrorKind::UnsupportedOp, format!("no {} kernel for {}", Op::Elu(op), dst.dtype())))
}
