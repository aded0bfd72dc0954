//! Setting elements to one value.

use crate::args;
use crate::key::{Family, Key};
use crate::launch::{Launch, grid_stride_blocks};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Result, Scalar, validate};

/// A dtype of the same size: a fill moves bits, whatever they mean.
const fn carrier(dtype: DType) -> DType {
    match dtype.size_in_bytes() {
        1 => DType::U8,
        2 => DType::I16,
        4 => DType::U32,
        _ => DType::I64,
    }
}

pub(crate) fn keys(dtype: DType) -> Vec<Key> {
    vec![Key::new(Family::Fill, 0, &[carrier(dtype)], 0)]
}

pub(crate) fn const_set<R: GpuRuntime>(dst: &mut GpuStorage<R>, value: Scalar, layout: &Layout) -> Result<()> {
    validate::const_set(value, dst, layout)?;
    let n = layout.elem_count() as u64;
    if n == 0 {
        return Ok(());
    }
    let ptr = dst.ptr().at(dst.dtype(), layout.start_offset());
    let bits = value.to_bits();
    let key = Key::new(Family::Fill, 0, &[carrier(dst.dtype())], 0);
    let launch = Launch::linear(key, grid_stride_blocks(dst.device(), n, 256, 4), 256);
    // SAFETY: the layout was validated against the buffer; `bits` is little-endian, so its first bytes are the value in any width.
    unsafe { launch.on(dst.device(), args![ptr, n, bits]) }
}
