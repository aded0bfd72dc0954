//! Converting between dtypes.

use crate::elementwise::{Kernels, run};
use crate::key::{Family, Key};
use crate::ops::copy;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(from: DType, to: DType) -> Kernels {
    Kernels::new(Key::new(Family::Cast, 0, &[from, to], Key::CONTIGUOUS), 2)
}

/// The kernels that the operation may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match dtypes {
        &[from, to] if from != to => kernels(from, to).keys(),
        _ => copy::keys(&Op::Copy, dtypes),
    }
}

pub(crate) fn cast_into<R: GpuRuntime>(
    src: &GpuStorage<R>,
    src_layout: &Layout,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (from, to) = (src.dtype(), dst.dtype());
    let src = Src::Storage(src, src_layout);
    if from == to {
        return copy::copy_into(src, dst, dst_layout).map_err(|e| e.with_op(Op::Cast));
    }
    run(&Op::Cast, || kernels(from, to), &[src], dst, dst_layout, &[])
}
