//! Packing and unpacking elements of eight bits or fewer.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Op, Pack, PackedDType, Result, Src, Unpack};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Rows, and elements of each.
const SIZE: [usize; 2] = [8192, 8192];

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    use PackedDType::{F4E2M1, F8E4M3FNUZ, F8E8M0, I2, U4};
    let [count, k] = SIZE;
    let values = &Layout::contiguous(SIZE);
    for packed in [U4, I2, F4E2M1, F8E8M0, F8E4M3FNUZ] {
        let bytes = &Layout::contiguous([count, packed.row_bytes(k)]);
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let [pack, unpack] = [Op::Pack(Pack::new(packed)), Op::Unpack(Unpack::new(packed, k))];
            if !rows.wants(pack.name(), dtype) && !rows.wants(unpack.name(), dtype) {
                continue;
            }
            let mut elements = rows.bench.random(values.elem_count(), dtype)?;
            let mut row_bytes = rows.bench.random(bytes.elem_count(), DType::U8)?;
            let moved = values.elem_count() * dtype.size_in_bytes() + bytes.elem_count();
            let call =
                Box::new(|| GpuStorage::apply_into(&pack, &[Src::Storage(&elements, values)], &mut row_bytes, bytes));
            rows.add(pack.name(), dtype, "8192x8192", moved, call)?;
            let call =
                Box::new(|| GpuStorage::apply_into(&unpack, &[Src::Storage(&row_bytes, bytes)], &mut elements, values));
            rows.add(unpack.name(), dtype, "8192x8192", moved, call)?;
        }
    }
    Ok(())
}
