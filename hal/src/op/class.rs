//! The numerics class of each operation: what is promised about the bits of its results.

use super::{BinaryOp, Interpolation, Op, QActivations, ReduceOp, Resize, ScanOp, ScatterOp, UnaryOp};
use crate::{DType, Numerics};

/// What determines the result of an operation, and so what is promised about its bits.
///
/// "Class: defined" in the documentation of a method means [`Class::Defined`]. The class depends on
/// the operation, the dtypes and the [`Numerics`]; [`Op::class`] returns it.
///
/// The results of the first three classes are *portable*: every device (CPU, CUDA, ROCm) gives the
/// same bits, in every release with the same [`NUMERICS_VERSION`](crate::NUMERICS_VERSION). The
/// conformance suite compares every device with the CPU driver, bit for bit. Only results of
/// [`Class::Vendor`] may differ from device to device.
/// [`docs/numerics.md`](https://github.com/isobit/isobit/blob/main/docs/numerics.md) gives the rule
/// for every operation.
///
/// ```rust
/// # use isobit_hal::{Class, DType::F32, Matmul, Numerics, Op, UnaryOp};
/// assert_eq!(Op::Copy.class(&[F32, F32]), Class::Moved);
/// assert_eq!(Op::Unary(UnaryOp::Sqrt).class(&[F32, F32]), Class::Exact);
/// assert_eq!(Op::Unary(UnaryOp::Exp).class(&[F32, F32]), Class::Defined);
/// assert_eq!(Op::Matmul(Matmul::default()).class(&[F32; 3]), Class::Defined);
/// let matmul = Op::Matmul(Matmul::with_numerics(Numerics::Vendor));
/// assert_eq!(matmul.class(&[F32; 3]), Class::Vendor);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Elements are copied, not computed. The result has the same raw bits on every device,
    /// including the sign and the payload of a NaN. Example: [`Op::Gather`].
    Moved,
    /// IEEE 754 or integer arithmetic alone determines the result, such as a sum rounded to
    /// nearest. The result has the same bits on every device, including the sign of a zero; only
    /// the sign and the payload of a NaN may differ. Example: [`BinaryOp::Add`].
    Exact,
    /// IEEE 754 leaves the result open (a transcendental function, the order of a sum), and a
    /// recipe in [`docs/numerics.md`](https://github.com/isobit/isobit/blob/main/docs/numerics.md)
    /// fixes every step of it. The result has the same bits on every device, as for
    /// [`Exact`](Self::Exact). Examples: [`UnaryOp::Exp`], [`ReduceOp::Sum`] of floats.
    Defined,
    /// A vendor library, such as cuBLAS, computes the result. The bits may differ between devices
    /// and between versions of the library. Each element stays within a forward error bound; random
    /// numbers must have the right range and distribution. Applies only if the call, or the default
    /// numerics of the device, asks for [`Numerics::Vendor`].
    Vendor,
}

const fn defined_if(defined: bool) -> Class {
    if defined { Class::Defined } else { Class::Exact }
}

impl UnaryOp {
    /// Whether IEEE 754 or integer arithmetic determines every bit. The other functions follow a
    /// recipe.
    pub const fn is_exact(self) -> bool {
        // The square root and the reciprocal take only floats, but IEEE 754 rounds them correctly.
        !self.is_float_only() || matches!(self, UnaryOp::Sqrt | UnaryOp::Recip)
    }
}

impl Op {
    /// Whether the result depends on the [`Numerics`]: a vendor library can compute the operation,
    /// or it has block products. Its parameters then have a `numerics` field.
    pub const fn has_numerics(&self) -> bool {
        self.has_vendor() || self.has_blocks()
    }

    /// Whether a vendor library can compute the operation.
    pub const fn has_vendor(&self) -> bool {
        matches!(
            self,
            Op::Matmul(_)
                | Op::ScaledMatmul(_)
                | Op::Conv1d(_)
                | Op::Conv2d(_)
                | Op::ConvTranspose1d(_)
                | Op::ConvTranspose2d(_)
                | Op::Conv3d(_)
                | Op::ConvTranspose3d(_)
                | Op::RandUniform(_)
                | Op::RandNormal(_)
                | Op::ScaledDotProductAttention(_)
        )
    }

    /// Whether a vendor library computes the operation for these dtypes, if the numerics are
    /// [`Numerics::Vendor`]. No library has attention of f32, and products of integers have the
    /// same bits everywhere.
    const fn has_vendor_of(&self, dtypes: &[DType]) -> bool {
        let Some(first) = dtypes.first() else { return self.has_vendor() };
        let is_attention = matches!(self, Op::ScaledDotProductAttention(_));
        self.has_vendor() && !first.is_int() && !(is_attention && matches!(first, DType::F32))
    }

    /// Whether the operation sums [block products](Numerics::Block) for dtypes that have them.
    pub const fn has_blocks(&self) -> bool {
        match self {
            Op::Matmul(_) | Op::Conv1d(_) | Op::Conv2d(_) | Op::Conv3d(_) => true,
            Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_) | Op::ConvTranspose3d(_) => true,
            Op::QMatmul(q) | Op::QMatmulId(q) => matches!(q.activations, QActivations::Float),
            _ => false,
        }
    }

    /// Output channels per group from which a convolution sums [block products](Numerics::Block).
    /// With fewer, matrix units would have little to do.
    pub const BLOCK_CHANNELS: usize = 16;

    /// Returns the bytes per integer of the [block products](Numerics::Block) of a convolution of a
    /// dtype with so many output channels per group; `None` if its results are chains.
    pub const fn conv_block_digits(dtype: DType, channels: usize) -> Option<usize> {
        if channels < Self::BLOCK_CHANNELS { None } else { crate::Matmul::block_digits(dtype) }
    }

    /// Returns the class of the result for these dtypes, inputs first and the destination last. If
    /// the parameters name no numerics, returns the class of the portable kernel.
    pub fn class(&self, dtypes: &[DType]) -> Class {
        let float = dtypes.first().is_some_and(|d| d.is_float());
        if self.has_vendor_of(dtypes) && self.numerics() == Some(Numerics::Vendor) {
            return Class::Vendor;
        }
        match self {
            Op::Fill(_)
            | Op::Copy
            | Op::WhereCond
            | Op::Triangle(_)
            | Op::Sort(_)
            | Op::TopK(_)
            | Op::Gather(_)
            | Op::IndexSelect(_)
            | Op::GatherNd(_)
            | Op::MaskedSelect { .. }
            | Op::Compress { .. }
            | Op::Unique { .. }
            | Op::UpsampleNearest1d(_)
            | Op::UpsampleNearest2d(_)
            | Op::Resize(Resize { mode: Interpolation::Nearest, .. })
            | Op::Flip(_)
            | Op::Roll(_)
            | Op::Pad(_)
            | Op::Repeat(_)
            | Op::Concat(_) => Class::Moved,
            Op::Cast(_) if matches!(dtypes, [from, to] if from == to) => Class::Moved,
            Op::Cast(_)
            | Op::Affine(_)
            | Op::Clamp(_)
            | Op::LeakyRelu(_)
            | Op::Cmp(_)
            | Op::Predicate(_)
            | Op::ArgSort(_)
            | Op::ArgTopK(_)
            | Op::CountNonzero
            | Op::Nonzero { .. }
            | Op::CountUnique
            | Op::UniqueInverse
            | Op::UniqueCounts { .. }
            | Op::UniqueFirst { .. }
            | Op::MatmulInteger(_)
            | Op::Pack(_)
            | Op::Unpack(_)
            | Op::MaxPool1d(_)
            | Op::MaxPool2d(_)
            | Op::MaxPool3d(_)
            | Op::ArgMaxPool1d(_)
            | Op::ArgMaxPool2d(_)
            | Op::ArgMaxPool3d(_)
            | Op::AdaptiveMaxPool(_)
            | Op::AdaptiveArgMaxPool(_) => Class::Exact,
            Op::Unary(op) => defined_if(!op.is_exact()),
            Op::Binary(op) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => Class::Exact,
                BinaryOp::Rem | BinaryOp::Maximum | BinaryOp::Minimum => Class::Exact,
                BinaryOp::FloorMod | BinaryOp::NextAfter => Class::Exact,
                BinaryOp::BitwiseAnd | BinaryOp::BitwiseOr | BinaryOp::BitwiseXor => Class::Exact,
                BinaryOp::BitwiseLeftShift | BinaryOp::BitwiseRightShift => Class::Exact,
                BinaryOp::Pow | BinaryOp::FloorDiv => defined_if(float),
                BinaryOp::Atan2 | BinaryOp::Hypot => Class::Defined,
            },
            Op::AddActivation(op) => defined_if(!op.unary().is_exact()),
            Op::Reduce(r) => match r.op {
                ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => defined_if(float),
                ReduceOp::L1Norm | ReduceOp::L2Norm | ReduceOp::LogSumExp => defined_if(float),
                ReduceOp::Var | ReduceOp::Std => defined_if(float),
                ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax => Class::Exact,
                ReduceOp::MaxNorm | ReduceOp::Any | ReduceOp::All => Class::Exact,
            },
            Op::Scan(s) => match s.op {
                ScanOp::Sum | ScanOp::Prod => defined_if(float),
                ScanOp::Min | ScanOp::Max => Class::Exact,
            },
            Op::Matmul(_) => defined_if(float),
            Op::ScatterSet(_) | Op::ScatterAdd(_) | Op::IndexAdd(_) | Op::ScatterReduce(_) | Op::ScatterNd(_) => {
                match self.scatter_op() {
                    Some(ScatterOp::Add | ScatterOp::Prod) => defined_if(float),
                    Some(ScatterOp::Amin | ScatterOp::Amax) => Class::Exact,
                    Some(ScatterOp::Set) | None => Class::Moved,
                }
            }
            Op::Powf(_)
            | Op::Elu(_)
            | Op::Celu(_)
            | Op::Softmax
            | Op::SafeSoftmax
            | Op::LogSoftmax
            | Op::RmsNorm { .. }
            | Op::LayerNorm(_)
            | Op::LayerNormStats { .. }
            | Op::SkipLayerNorm { .. }
            | Op::GroupNorm(_)
            | Op::BatchNorm(_)
            | Op::LocalResponseNorm(_)
            | Op::Rope(_)
            | Op::ScaledDotProductAttention(_)
            | Op::ScaledMatmul(_)
            | Op::Conv1d(_)
            | Op::Conv2d(_)
            | Op::ConvTranspose1d(_)
            | Op::ConvTranspose2d(_)
            | Op::Conv3d(_)
            | Op::ConvTranspose3d(_)
            | Op::AvgPool1d(_)
            | Op::AvgPool2d(_)
            | Op::AvgPool3d(_)
            | Op::AdaptiveAvgPool(_)
            | Op::LpPool(_)
            | Op::AvgPoolBackward(_)
            | Op::MaxPoolBackward(_)
            | Op::AdaptiveAvgPoolBackward(_)
            | Op::AdaptiveMaxPoolBackward(_)
            | Op::Col2im(_)
            | Op::UpsampleBilinear2d(_)
            | Op::Resize(_)
            | Op::GridSample(_)
            | Op::RandUniform(_)
            | Op::RandNormal(_)
            | Op::Bernoulli(_)
            | Op::BernoulliProbs(_)
            | Op::Dropout(_)
            | Op::Quantize(_)
            | Op::Dequantize(_)
            | Op::QMatmul(_)
            | Op::QMatmulId(_) => Class::Defined,
        }
    }
}
