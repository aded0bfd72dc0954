//! Fills: sets all elements to one value.

use crate::device::OnDevice;
use crate::key::{Family, Key};
use crate::launch::Arg;
use crate::launch::elementwise::{Kernels, carrier, run_fill};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

fn kernels(dtype: DType) -> Kernels {
    Kernels::new(Key::new(Family::Fill, 0, &[carrier(dtype)], Key::CONTIGUOUS), 1)
}

/// Returns the kernels that a fill may launch.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    kernels(dtypes[0]).keys()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    _srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    layout: &Layout,
) -> Result<()> {
    let &Op::Fill(value) = op else { unreachable!("not an operation of the family") };
    let (dtype, bits) = (dst.dtype(), value.to_bits());
    if bits == 0
        && let Some((start, end)) = layout.contiguous_offsets()
    {
        // Zeros need no module: the driver's memset runs at full speed.
        let bytes = (end - start) * dtype.size_in_bytes();
        if bytes == 0 {
            return Ok(());
        }
        let device = dst.device();
        // SAFETY: the layout was validated against the buffer.
        return unsafe { device.runtime().set_bytes(&device.stream(), dst.ptr().at(dtype, start), 0, bytes) }
            .on_device(device);
    }
    // The bits are little-endian, so the first bytes hold the value for every element size.
    run_fill(kernels(dtype), dst, layout, &[Arg::new(&bits)])
}
