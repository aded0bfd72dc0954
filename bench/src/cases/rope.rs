//! Rotary embedding.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, RopeForm, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let [batch, heads, time, d] = [8, 32, 2048, 128];
    let table = &Layout::contiguous([time, d / 2]);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for &form in RopeForm::ALL {
            if rows.wants(form.name(), dtype) {
                let dims = if form == RopeForm::Thd { [batch, time, heads, d] } else { [batch, heads, time, d] };
                let (layout, op) = (&Layout::contiguous(dims), Op::Rope(form));
                let n = layout.elem_count();
                let (src, dst) = (&rows.bench.random(n, dtype)?, &mut rows.bench.output(n, dtype)?);
                let (cos, sin) = (&rows.bench.random(time * d, dtype)?, &rows.bench.random(time * d, dtype)?);
                let inputs = [Src::Storage(src, layout), Src::Storage(cos, table), Src::Storage(sin, table)];
                let call = Box::new(|| GpuStorage::apply_into(&op, &inputs, dst, layout));
                rows.add(form.name(), dtype, "8x32x2048x128", (2 * n + time * d) * dtype.size_in_bytes(), call)?;
            }
        }
    }
    Ok(())
}
