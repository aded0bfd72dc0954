//! A golden case as a call of the HAL.

use super::damaged;
use super::file::{Case, Golden, unhex};
use crate::family::Member;
use isobit_hal::{
    Activation, Affine, BackendDevice, BackendStorage, BinaryOp, Clamp, CmpOp, Copy2d, CpuStorage, DType, Elu, Layout,
    Matmul, Numerics, Op, Powf, Reduce, ReduceOp, Result, Scalar, Src, UnaryOp, dispatch_dtype,
};

/// A call: the operation, its operands and the buffer that it writes.
pub(super) struct Call<'a> {
    pub(super) op: Op,
    /// Inputs first, the destination last.
    pub(super) dtypes: Vec<DType>,
    case: &'a Case,
    golden: &'a Golden,
    dst_dtype: DType,
}

impl<'a> Call<'a> {
    /// Reads a case.
    ///
    /// # Errors
    /// `Other` where it names an operation or a buffer that is not there.
    pub(super) fn of(case: &'a Case, golden: &'a Golden) -> Result<Self> {
        let dst_dtype: DType = case.out.0.parse()?;
        let mut dtypes = Vec::new();
        for input in &case.inputs {
            dtypes.push(golden.buffer(input.0)?.dtype);
        }
        dtypes.push(dst_dtype);
        Ok(Self { op: operation(case)?, dtypes, case, golden, dst_dtype })
    }

    /// Runs it and brings the result back.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn run<D: BackendDevice>(&self, device: &D) -> Result<CpuStorage> {
        let case = self.case;
        let mut inputs = Vec::new();
        let mut layouts = Vec::new();
        for (i, input) in case.inputs.iter().enumerate() {
            let buffer = self.golden.buffer(input.0)?;
            inputs.push(device.storage_from_bytes(buffer.dtype, &buffer.bytes)?);
            layouts.push(case.layout(i)?);
        }
        let out = Layout::contiguous(&*case.out.1);
        let mut dst = device.zeros(out.shape(), self.dst_dtype)?;
        match &self.op {
            Op::ConstSet => dst.const_set(self.value()?, &self.target()?)?,
            Op::Copy => inputs[0].copy_strided_src(&mut dst, 0, &layouts[0])?,
            Op::Copy2d(copy) => inputs[0].copy2d(&mut dst, *copy)?,
            op => {
                let srcs: Vec<_> = inputs.iter().zip(&layouts).map(|(s, l)| Src::Storage(s, l)).collect();
                D::Storage::apply_into(op, &srcs, &mut dst, &out)?;
            }
        }
        dst.to_cpu_storage()
    }

    /// The value of a fill.
    fn value(&self) -> Result<Scalar> {
        let storage = CpuStorage::from_bytes(self.dst_dtype, &unhex(&self.case.params.value)?)?;
        let first = dispatch_dtype!(self.dst_dtype, T => storage.as_slice::<T>().and_then(|v| v.first()).map(|v| Scalar::from(*v)));
        first.ok_or_else(|| damaged("a fill has no value"))
    }

    /// What a fill writes.
    fn target(&self) -> Result<Layout> {
        let p = &self.case.params;
        Layout::new(&*p.shape, &*p.strides, p.offset)
    }
}

fn operation(case: &Case) -> Result<Op> {
    let (name, p) = (&*case.op, &case.params);
    if let Some(&op) = UnaryOp::ALL.iter().find(|o| o.name() == name) {
        return Ok(Op::Unary(op));
    }
    if let Some(&op) = BinaryOp::ALL.iter().find(|o| o.name() == name) {
        return Ok(Op::Binary(op));
    }
    if let Some(&op) = CmpOp::ALL.iter().find(|o| o.name() == name) {
        return Ok(Op::Cmp(op));
    }
    if let Some(&op) = ReduceOp::ALL.iter().find(|o| o.name() == name) {
        return Ok(Op::Reduce(Reduce::new(op, &p.dims)));
    }
    Ok(match name {
        "const_set" => Op::ConstSet,
        "copy_strided_src" => Op::Copy,
        "copy2d" => Op::Copy2d(
            Copy2d::new(p.rows, p.cols)
                .with_strides(p.src_stride, p.dst_stride)
                .with_offsets(p.src_offset, p.dst_offset),
        ),
        "cast" => Op::Cast,
        "affine" => Op::Affine(Affine::new(p.mul, p.add)),
        "powf" => Op::Powf(Powf::new(p.exponent)),
        "elu" => Op::Elu(Elu::new(p.alpha)),
        "where_cond" => Op::WhereCond,
        // The vectors hold every device to one bound: that of the tree's own kernel.
        "matmul" => Op::Matmul(Matmul::with_numerics(Numerics::Portable)),
        "clamp" => Op::Clamp(Clamp::new(p.named.number("min"), p.named.number("max"))),
        other => {
            let activation = Activation::ALL.iter().map(|&a| Op::AddActivation(a)).find(|op| op.name() == other);
            let member = || Member::find(other).map(|m| m.with_params(&p.named));
            let op = activation.or_else(member);
            op.ok_or_else(|| damaged(format_args!("`{other}` is no operation")))?
                .with_numerics(Some(Numerics::Portable))
        }
    })
}
