//! Random numbers from the portable generator and from the vendor's library, masks and dropout. The
//! bytes are those written, and those that dropout and bernoulli_probs read.

use super::Rows;
use isobit_hal::{
    BackendStorage, Bernoulli, BernoulliProbs, DType, Dropout, Layout, Numerics, Op, RandNormal, RandUniform, Result,
    Src,
};
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
    for dtype in [DType::U8, DType::F32, DType::F16, DType::BF16, DType::F64] {
        if rows.wants("bernoulli", dtype) {
            let (op, dst) = (Op::Bernoulli(Bernoulli::new(0.5)), &mut rows.bench.output(n, dtype)?);
            let call = Box::new(|| GpuStorage::apply_into(&op, &[], dst, l));
            rows.add("bernoulli", dtype, work, n * dtype.size_in_bytes(), call)?;
        }
        let read = [
            ("dropout", Op::Dropout(Dropout::new(0.1))),
            ("bernoulli_probs", Op::BernoulliProbs(BernoulliProbs::new())),
        ];
        for (name, op) in read.into_iter().filter(|_| dtype.is_float()) {
            if rows.wants(name, dtype) {
                let x = &rows.bench.random(n, dtype)?;
                let (inputs, dst) = ([Src::Storage(x, l)], &mut rows.bench.output(n, dtype)?);
                let call = Box::new(|| GpuStorage::apply_into(&op, &inputs, dst, l));
                rows.add(name, dtype, work, 2 * n * dtype.size_in_bytes(), call)?;
            }
        }
    }
    Ok(())
}
