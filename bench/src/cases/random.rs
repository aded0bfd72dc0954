//! Random numbers from the portable generator and from the vendor's library. The bytes are those
//! written.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Numerics, Op, RandNormal, RandUniform, Result};
use isobit_kernels::{GpuRuntime, GpuStorage};

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    let (n, work) = (rows.args.size << 20, &format!("{}Mi", rows.args.size));
    let l = &Layout::contiguous(n);
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        for (suffix, numerics) in [("", Numerics::Portable), ("_vendor", Numerics::Vendor)] {
            let uniform = Op::RandUniform(RandUniform::new(0.0, 1.0).with_numerics(numerics));
            let normal = Op::RandNormal(RandNormal::new(0.0, 1.0).with_numerics(numerics));
            for op in [uniform, normal] {
                let name = format!("{}{suffix}", op.name());
                if rows.wants(&name, dtype) {
                    let dst = &mut rows.bench.output(n, dtype)?;
                    let call = Box::new(|| GpuStorage::apply_into(&op, &[], dst, l));
                    rows.add(&name, dtype, work, n * dtype.size_in_bytes(), call)?;
                }
            }
        }
    }
    Ok(())
}
