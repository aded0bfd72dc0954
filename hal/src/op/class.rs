//! What can be promised of each operation's results: the numerics class, op by op.

use super::{Activation, BinaryOp, Op, ReduceOp, UnaryOp};
use crate::{DType, Numerics};

/// How a result is determined, and so how two devices are compared. `docs/numerics.md` gives the
/// rules of each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Values are carried, not computed: raw bits, NaN payloads included, on every device.
    Moved,
    /// IEEE 754 or integer arithmetic determines the result: the same bits on every device, but for
    /// a NaN's payload.
    Exact,
    /// A recipe of this project determines the result, operation by operation: the same bits on
    /// every device, but for a NaN's payload.
    Defined,
    /// A vendor's library computes it: within a forward error bound.
    Vendor,
}

const fn defined_if(defined: bool) -> Class {
    if defined { Class::Defined } else { Class::Exact }
}

impl UnaryOp {
    /// True where IEEE 754 or integer arithmetic determines every bit; the others follow a recipe.
    pub const fn is_exact(self) -> bool {
        // The root and the reciprocal are correctly rounded by IEEE 754, though defined for floats
        // alone.
        !self.is_float_only() || matches!(self, UnaryOp::Sqrt | UnaryOp::Recip)
    }
}

impl Op {
    /// Whether a vendor's library may compute it, so that its parameters say who does.
    pub const fn has_numerics(&self) -> bool {
        matches!(
            self,
            Op::Matmul(_)
                | Op::Conv1d(_)
                | Op::Conv2d(_)
                | Op::ConvTranspose1d(_)
                | Op::ConvTranspose2d(_)
                | Op::RandUniform(_)
                | Op::RandNormal(_)
        )
    }

    /// How its result is determined for these dtypes, inputs first and the destination last. Where
    /// its parameters do not say who computes it, the answer is for the kernel of the tree.
    pub fn class(&self, dtypes: &[DType]) -> Class {
        let float = dtypes.first().is_some_and(|d| d.is_float());
        if self.numerics() == Some(Numerics::Vendor) {
            return Class::Vendor;
        }
        match self {
            Op::Fill(_)
            | Op::Copy
            | Op::WhereCond
            | Op::Triangle(_)
            | Op::Sort(_)
            | Op::TopK(_)
            | Op::Gather { .. }
            | Op::IndexSelect { .. }
            | Op::ScatterSet { .. }
            | Op::UpsampleNearest1d(_)
            | Op::UpsampleNearest2d(_) => Class::Moved,
            Op::Cast if matches!(dtypes, [from, to] if from == to) => Class::Moved,
            Op::Cast
            | Op::Affine(_)
            | Op::Clamp(_)
            | Op::Cmp(_)
            | Op::ArgSort(_)
            | Op::ArgTopK(_)
            | Op::MaxPool2d(_) => Class::Exact,
            Op::Unary(op) => defined_if(!op.is_exact()),
            Op::Binary(op) => defined_if(float && matches!(op, BinaryOp::Pow)),
            Op::AddActivation(op) => defined_if(!matches!(op, Activation::Relu)),
            Op::Reduce(r) => defined_if(float && matches!(r.op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean)),
            Op::CumSum(_) | Op::ScatterAdd { .. } | Op::IndexAdd { .. } => defined_if(float),
            Op::Powf(_)
            | Op::Elu(_)
            | Op::Matmul(_)
            | Op::Softmax
            | Op::LogSoftmax
            | Op::RmsNorm { .. }
            | Op::LayerNorm { .. }
            | Op::Rope(_)
            | Op::Conv1d(_)
            | Op::Conv2d(_)
            | Op::ConvTranspose1d(_)
            | Op::ConvTranspose2d(_)
            | Op::AvgPool2d(_)
            | Op::UpsampleBilinear2d(_)
            | Op::RandUniform(_)
            | Op::RandNormal(_)
            | Op::Quantize(_)
            | Op::Dequantize(_)
            | Op::QMatmul(_)
            | Op::QMatmulId(_) => Class::Defined,
        }
    }
}
