//! The operations of host storages: validated, then handed to the family's file.

use super::{
    CpuDevice, CpuStorage, activation, affine, binary, cast, compare, conv, copy, fill, indexing, matmul, norm, pool,
    quantized, random, reduce, rope, scan, sort, ternary, triangle, unary, upsample,
};
use crate::{BackendStorage, DType, Error, ErrorKind, Layout, Op, Result, Scalar, Src, trace, validate};

impl BackendStorage for CpuStorage {
    type Device = CpuDevice;

    fn dtype(&self) -> DType {
        self.dtype()
    }

    fn len(&self) -> usize {
        self.as_bytes().len() / self.dtype().size_in_bytes()
    }

    fn device(&self) -> &CpuDevice {
        CpuDevice::INSTANCE
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        CpuStorage::from_bytes(self.dtype(), self.as_bytes())
    }

    fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        validate::byte_range(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.as_bytes()[offset..][..bytes.len()]);
        Ok(())
    }

    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        validate::byte_range(self, offset, bytes.len())?;
        self.as_bytes_mut()[offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn device_ptr(&self) -> Result<u64> {
        Ok(self.as_bytes().as_ptr() as u64)
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        let _span = trace::operation(&trace::Call { op: &Op::ConstSet, inputs: &[], dst: self, dst_layout: layout });
        validate::const_set(value, self, layout)?;
        fill::fill(value, self, layout);
        Ok(())
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dl: &Layout) -> Result<()> {
        let _span = trace::operation(&trace::Call { op, inputs, dst, dst_layout: dl });
        validate::call(op, inputs, dst, dl)?;
        let stored = |i: usize| inputs[i].storage().expect("validated to be no destination");
        match (op, inputs) {
            (Op::Copy | Op::Copy2d(_), &[src]) => copy::copy(src, dst, dl),
            (Op::Cast, _) => cast::cast(stored(0).0, stored(0).1, dst, dl),
            (Op::Affine(op), &[src]) => affine::affine(*op, src, dst, dl),
            (Op::Powf(op), &[src]) => affine::powf(*op, src, dst, dl),
            (Op::Elu(op), &[src]) => affine::elu(*op, src, dst, dl),
            (Op::Clamp(op), &[src]) => affine::clamp(*op, src, dst, dl),
            (Op::Unary(op), &[src]) => unary::unary(*op, src, dst, dl),
            (Op::Binary(op), &[lhs, rhs]) => binary::binary(*op, [lhs, rhs], dst, dl),
            (Op::Cmp(op), &[lhs, rhs]) => compare::compare(*op, [lhs, rhs], dst, dl),
            (Op::WhereCond, &[cond, on_true, on_false]) => ternary::where_cond([cond, on_true, on_false], dst, dl),
            (Op::AddActivation(op), &[x, bias]) => activation::add_activation(*op, [x, bias], dst, dl),
            (Op::Triangle(op), &[src]) => triangle::triangle(*op, src, dst, dl),
            (Op::Reduce(op), _) => reduce::reduce(op, stored(0).0, stored(0).1, dst, dl),
            (Op::CumSum(op), _) => scan::cumsum(*op, stored(0), dst, dl),
            (Op::Matmul(_), _) => matmul::matmul(stored(0), stored(1), dst, dl),
            (Op::Softmax | Op::LogSoftmax, _) => norm::softmax(op, stored(0), dst, dl),
            (Op::RmsNorm { eps }, _) => norm::rms_norm(*eps, stored(0), stored(1), dst, dl),
            (Op::LayerNorm { eps }, _) => norm::layer_norm(*eps, stored(0), [stored(1), stored(2)], dst, dl),
            (Op::Rope(form), _) => rope::rope(*form, stored(0), [stored(1), stored(2)], dst, dl),
            (Op::Sort(_) | Op::TopK(_), _) => sort::values(op, stored(0), dst, dl),
            (Op::ArgSort(_) | Op::ArgTopK(_), _) => sort::positions(op, stored(0), dst, dl),
            (Op::Gather { dim }, _) => return indexing::gather(*dim, stored(0), stored(1), dst, dl),
            (Op::IndexSelect { dim }, _) => return indexing::index_select(*dim, stored(0), stored(1), dst, dl),
            (Op::ScatterSet { .. } | Op::ScatterAdd { .. } | Op::IndexAdd { .. }, &[to, ..]) => {
                if let Src::Storage(..) = to {
                    copy::copy(to, dst, dl);
                }
                return indexing::scatter(op, stored(1), stored(2), dst, dl);
            }
            (Op::Conv1d(_) | Op::Conv2d(_) | Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_), _) => {
                conv::conv(op, stored(0), stored(1), dst, dl);
            }
            (Op::AvgPool2d(op), _) => pool::avg_pool2d(op, stored(0), dst, dl),
            (Op::MaxPool2d(op), _) => pool::max_pool2d(op, stored(0), dst, dl),
            (Op::UpsampleNearest1d(_) | Op::UpsampleNearest2d(_), _) => upsample::nearest(op, stored(0), dst, dl),
            (Op::UpsampleBilinear2d(op), _) => upsample::bilinear(op, stored(0), dst, dl),
            (Op::RandUniform(op), _) => random::uniform(op, dst, dl),
            (Op::RandNormal(op), _) => random::normal(op, dst, dl),
            (Op::Quantize(format), _) => quantized::quantize(*format, stored(0), dst, dl),
            (Op::Dequantize(format), _) => quantized::dequantize(*format, stored(0), dst, dl),
            (Op::QMatmul(op), _) => quantized::qmatmul(*op, stored(0), stored(1), dst, dl),
            (Op::QMatmulId(op), _) => return quantized::qmatmul_id(*op, stored(0), stored(1), stored(2), dst, dl),
            _ => return Err(Error::new(ErrorKind::InvalidArgument, format!("{op} is a call of its own")).with_op(op)),
        }
        Ok(())
    }
}
