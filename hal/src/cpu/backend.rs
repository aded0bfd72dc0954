//! Implements the operations on host storages: each call is validated, then dispatched to the
//! module of its family.

use super::{
    CpuDevice, CpuStorage, affine, attention, bias_activation, binary, cast, col2im, compact, compare, conv, copy,
    fill, grid_sample, index_map, indexing, matmul, matmul_integer, norm, packed, pool_backward, pooling, quantized,
    random, reduce, resize, rope, scaled_matmul, scan, select, sort, triangle, unary, upsample,
};
use crate::{BackendStorage, DType, Layout, Op, Result, Src, trace, validate};

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

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dl: &Layout) -> Result<()> {
        let _span = trace::operation(&trace::Call { op, inputs, dst, dst_layout: dl });
        validate::call(op, inputs, dst, dl)?;
        let stored = |i: usize| inputs[i].storage().expect("validated not to be the destination");
        // A norm's weight follows its other inputs, and its bias is the last one.
        let parameters = |weight: usize, [has_weight, has_bias]: [bool; 2]| {
            [has_weight.then(|| stored(weight)), has_bias.then(|| stored(inputs.len() - 1))]
        };
        match op {
            Op::Fill(value) => fill::fill(*value, dst, dl),
            Op::Copy => copy::copy(inputs[0], dst, dl),
            Op::Cast(op) => cast::cast(*op, stored(0).0, stored(0).1, dst, dl),
            Op::Affine(op) => affine::affine(*op, inputs[0], dst, dl),
            Op::Powf(op) => affine::powf(*op, inputs[0], dst, dl),
            Op::Elu(op) => affine::elu(*op, inputs[0], dst, dl),
            Op::LeakyRelu(op) => affine::leaky_relu(*op, inputs[0], dst, dl),
            Op::Celu(op) => affine::celu(*op, inputs[0], dst, dl),
            Op::Clamp(op) => affine::clamp(*op, inputs[0], dst, dl),
            Op::Unary(op) => unary::unary(*op, inputs[0], dst, dl),
            Op::Binary(op) => binary::binary(*op, [inputs[0], inputs[1]], dst, dl),
            Op::Cmp(op) => compare::compare(*op, [inputs[0], inputs[1]], dst, dl),
            Op::Predicate(op) => compare::predicate(*op, inputs[0], dst, dl),
            Op::WhereCond => select::where_cond([inputs[0], inputs[1], inputs[2]], dst, dl),
            Op::AddActivation(op) => bias_activation::add_activation(*op, [inputs[0], inputs[1]], dst, dl),
            Op::Triangle(op) => triangle::triangle(*op, inputs[0], dst, dl),
            Op::Reduce(op) => reduce::reduce(op, stored(0).0, stored(0).1, dst, dl),
            Op::Scan(op) => scan::scan(*op, stored(0), dst, dl),
            Op::Matmul(op) => matmul::matmul(*op, stored(0), stored(1), dst, dl),
            Op::MatmulInteger(op) => matmul_integer::matmul_integer(*op, stored, dst, dl),
            Op::ScaledMatmul(_) => scaled_matmul::scaled_matmul(stored, dst, dl),
            Op::Softmax | Op::SafeSoftmax | Op::LogSoftmax => norm::softmax(op, stored(0), dst, dl),
            Op::RmsNorm { eps } => norm::rms_norm(*eps, stored(0), stored(1), dst, dl),
            Op::LayerNorm(p) => {
                norm::layer_norm(p.eps, stored(0), parameters(1, [p.has_weight, p.has_bias]), dst, dl);
            }
            Op::LayerNormStats { eps } => return norm::layer_norm_stats(*eps, stored(0), dst, dl),
            Op::SkipLayerNorm { eps } => {
                return norm::skip_layer_norm(*eps, [0, 1].map(stored), [2, 3, 4].map(stored), dst, dl);
            }
            Op::GroupNorm(p) => {
                return norm::group_norm(p, stored(0), parameters(1, [p.has_weight, p.has_bias]), dst, dl);
            }
            Op::BatchNorm(p) => {
                let parameters = parameters(3, [p.has_weight, p.has_bias]);
                return norm::batch_norm(p.eps, stored(0), [1, 2].map(stored), parameters, dst, dl);
            }
            Op::LocalResponseNorm(p) => return norm::local_response_norm(p, stored(0), dst, dl),
            Op::Rope(form) => rope::rope(*form, stored(0), [stored(1), stored(2)], dst, dl),
            Op::ScaledDotProductAttention(op) => attention::attention(op, stored, dst, dl),
            Op::Sort(_) | Op::TopK(_) => sort::values(op, stored(0), dst, dl),
            Op::ArgSort(_) | Op::ArgTopK(_) => sort::positions(op, stored(0), dst, dl),
            Op::Gather(_) | Op::IndexSelect(_) | Op::GatherNd(_) => {
                return indexing::take(op, stored(0), stored(1), dst, dl);
            }
            Op::ScatterSet(_) | Op::ScatterAdd(_) | Op::IndexAdd(_) | Op::ScatterReduce(_) | Op::ScatterNd(_) => {
                if let to @ Src::Storage(..) = inputs[0] {
                    copy::copy(to, dst, dl);
                }
                return indexing::scatter(op, stored(1), stored(2), dst, dl);
            }
            Op::CountNonzero | Op::Nonzero { .. } => compact::nonzero(op, stored(0), dst, dl),
            Op::MaskedSelect { .. } => compact::masked_select(stored(0), stored(1), dst, dl),
            Op::Compress { dim, .. } => return compact::compress(*dim, stored(0), stored(1), dst, dl),
            Op::CountUnique
            | Op::Unique { .. }
            | Op::UniqueInverse
            | Op::UniqueCounts { .. }
            | Op::UniqueFirst { .. } => compact::unique(op, stored(0), dst, dl),
            Op::Conv1d(_)
            | Op::Conv2d(_)
            | Op::Conv3d(_)
            | Op::ConvTranspose1d(_)
            | Op::ConvTranspose2d(_)
            | Op::ConvTranspose3d(_) => conv::conv(op, inputs.len(), stored, dst, dl),
            Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_) => pooling::averages(op, stored(0), dst, dl),
            Op::MaxPool1d(_) | Op::MaxPool2d(_) | Op::MaxPool3d(_) => pooling::maxima(op, stored(0), dst, dl),
            Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) => {
                pooling::positions(op, stored(0), dst, dl)
            }
            Op::LpPool(p) => pooling::norms(op, p.p(), stored(0), dst, dl),
            Op::AdaptiveAvgPool(_) => pooling::averages(op, stored(0), dst, dl),
            Op::AdaptiveMaxPool(_) => pooling::maxima(op, stored(0), dst, dl),
            Op::AdaptiveArgMaxPool(_) => pooling::positions(op, stored(0), dst, dl),
            Op::AvgPoolBackward(_) | Op::AdaptiveAvgPoolBackward(_) => pool_backward::averages(op, stored(0), dst, dl),
            Op::Col2im(p) => col2im::col2im(p, stored(0), dst, dl),
            Op::MaxPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_) => {
                pool_backward::maxima(op, stored(0), stored(1), dst, dl)
            }
            Op::UpsampleNearest1d(_) | Op::UpsampleNearest2d(_) => upsample::nearest(op, stored(0), dst, dl),
            Op::UpsampleBilinear2d(op) => upsample::bilinear(op, stored(0), dst, dl),
            Op::Resize(op) => resize::resize(op, stored(0), dst, dl),
            Op::GridSample(op) => grid_sample::grid_sample(*op, stored(0), stored(1), dst, dl),
            Op::Flip(op) => index_map::flip(op, stored(0), dst, dl),
            Op::Roll(op) => index_map::roll(op, stored(0), dst, dl),
            Op::Pad(op) => index_map::pad(op, stored(0), dst, dl),
            Op::Repeat(op) => index_map::repeat(op, stored(0), dst, dl),
            Op::Concat(op) => return index_map::concat(*op, stored, dst, dl),
            Op::RandUniform(op) => random::uniform(op, dst, dl),
            Op::RandNormal(op) => random::normal(op, dst, dl),
            Op::Bernoulli(op) => random::bernoulli(op, dst, dl),
            Op::BernoulliProbs(op) => random::bernoulli_probs(op, inputs[0], dst, dl),
            Op::Dropout(op) => random::dropout(op, inputs[0], dst, dl),
            Op::Quantize(format) => quantized::quantize(*format, stored(0), dst, dl),
            Op::Dequantize(format) => quantized::dequantize(*format, stored(0), dst, dl),
            Op::Pack(op) => packed::pack(*op, stored(0), dst, dl),
            Op::Unpack(op) => packed::unpack(*op, stored(0), dst, dl),
            Op::QMatmul(op) => quantized::qmatmul(*op, stored(0), stored(1), dst, dl),
            Op::QMatmulId(op) => return quantized::qmatmul_id(*op, stored(0), stored(1), stored(2), dst, dl),
        }
        Ok(())
    }
}
