//! Operations as values: what drivers carry out, what `supports` is asked, what errors name, and
//! the parameters that calls take.

mod class;
mod conv;
mod dtypes;
mod family;
mod functions;
mod params;
mod quantized;
mod random;
mod shapes;
mod sort;
mod window;

pub use class::Class;
pub use conv::{Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d};
pub use family::Family;
pub use functions::{Activation, BinaryOp, CmpOp, ReduceOp, RopeForm, UnaryOp};
pub use params::{Affine, Clamp, Copy2d, CumSum, Elu, Matmul, Powf, Reduce, Triangle};
pub use quantized::{GgmlDType, QActivations, QMatmul};
pub use random::{RandNormal, RandUniform};
pub use sort::{Sort, TopK};
pub use window::{Pool2d, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d};

use crate::{Numerics, Scalar};
use std::fmt;

/// Names of the operations on every format, in the order of [`GgmlDType::ALL`].
macro_rules! for_formats {
    ($prefix:literal) => {
        [
            concat!($prefix, "_q4_0"),
            concat!($prefix, "_q4_1"),
            concat!($prefix, "_q5_0"),
            concat!($prefix, "_q5_1"),
            concat!($prefix, "_q8_0"),
            concat!($prefix, "_q8_1"),
            concat!($prefix, "_q2_k"),
            concat!($prefix, "_q3_k"),
            concat!($prefix, "_q4_k"),
            concat!($prefix, "_q5_k"),
            concat!($prefix, "_q6_k"),
            concat!($prefix, "_q8_k"),
        ]
    };
}
const QUANTIZE: [&str; GgmlDType::ALL.len()] = for_formats!("quantize");
const DEQUANTIZE: [&str; GgmlDType::ALL.len()] = for_formats!("dequantize");
/// With activations as they come, and through q8_1.
const QMATMUL: [[&str; GgmlDType::ALL.len()]; 2] = [for_formats!("qmatmul"), for_formats!("qmatmul_q8_1")];
const QMATMUL_ID: [[&str; GgmlDType::ALL.len()]; 2] = [for_formats!("qmatmul_id"), for_formats!("qmatmul_id_q8_1")];

/// Any operation of the HAL, with its parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Sets every element to one value, of the destination's dtype; see
    /// [`BackendStorage::const_set`](crate::BackendStorage::const_set). All dtypes. Dtypes:
    /// `[dst]`.
    Fill(Scalar),
    /// [`BackendStorage::copy_into`](crate::BackendStorage::copy_into). Dtypes: `[src, dst]`,
    /// equal.
    Copy,
    /// [`BackendStorage::cast_into`](crate::BackendStorage::cast_into). Dtypes: `[src, dst]`, any.
    Cast,
    /// [`BackendStorage::affine_into`](crate::BackendStorage::affine_into). Dtypes: `[src, dst]`,
    /// equal.
    Affine(Affine),
    /// [`BackendStorage::powf_into`](crate::BackendStorage::powf_into). Dtypes: `[src, dst]`, equal
    /// floats.
    Powf(Powf),
    /// [`BackendStorage::elu_into`](crate::BackendStorage::elu_into). Dtypes: `[src, dst]`, equal
    /// floats.
    Elu(Elu),
    /// [`BackendStorage::unary_into`](crate::BackendStorage::unary_into). Dtypes: `[src, dst]`,
    /// equal.
    Unary(UnaryOp),
    /// [`BackendStorage::binary_into`](crate::BackendStorage::binary_into). Dtypes: `[lhs, rhs,
    /// dst]`, equal.
    Binary(BinaryOp),
    /// [`BackendStorage::cmp_into`](crate::BackendStorage::cmp_into). Dtypes: `[lhs, rhs, dst]`,
    /// the last u8.
    Cmp(CmpOp),
    /// [`BackendStorage::where_cond_into`](crate::BackendStorage::where_cond_into). Dtypes: `[cond,
    /// on_true, on_false, dst]`, cond u8, u32 or i64.
    WhereCond,
    /// [`BackendStorage::reduce_into`](crate::BackendStorage::reduce_into). Dtypes: `[src, dst]`,
    /// equal, or dst u32 for arg reductions.
    Reduce(Reduce),
    /// [`BackendStorage::matmul_into`](crate::BackendStorage::matmul_into). Dtypes: `[lhs, rhs,
    /// dst]`, equal floats.
    Matmul(Matmul),
    /// `min(max(x, min), max)`; see [`Clamp`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Clamp(Clamp),
    /// A triangle of the last two dimensions; see [`Triangle`]. All dtypes. Dtypes: `[src, dst]`,
    /// equal.
    Triangle(Triangle),
    /// A function of a sum, `f(x + bias)`, the sum rounded to the dtype before. Floats. Dtypes:
    /// `[x, bias, dst]`, equal.
    AddActivation(Activation),
    /// Running sums; see [`CumSum`]. All dtypes. Dtypes: `[src, dst]`, equal.
    CumSum(CumSum),
    /// `e^x / sum e^x` over the last dimension. Floats. Dtypes: `[src, dst]`, equal.
    Softmax,
    /// `x - log(sum e^x)` over the last dimension. Floats. Dtypes: `[src, dst]`, equal.
    LogSoftmax,
    /// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension, of which `weight` has the
    /// size. Floats. Dtypes: `[src, weight, dst]`, equal.
    RmsNorm {
        /// What keeps the root from 0.
        eps: f64,
    },
    /// `(x - mean(x)) / sqrt(variance(x) + eps) * weight + bias` over the last dimension, of which
    /// `weight` and `bias` have the size; the variance divides by the count. Floats. Dtypes: `[src,
    /// weight, bias, dst]`, equal.
    LayerNorm {
        /// What keeps the root from 0.
        eps: f64,
    },
    /// Rotary position embedding; see [`RopeForm`]. Floats. Operands `[x, cos, sin]`, the last two
    /// of `[time, d/2]` or `[batch, time, d/2]`. Dtypes: `[x, cos, sin, dst]`, equal.
    Rope(RopeForm),
    /// A stable sort of the last dimension; see [`Sort`]. All dtypes. Dtypes: `[src, dst]`, equal.
    Sort(Sort),
    /// The u32 positions of the elements of a stable sort of the last dimension. All dtypes.
    /// Dtypes: `[src, dst]`, dst u32.
    ArgSort(Sort),
    /// The first elements of a stable sort of the last dimension; see [`TopK`]. All dtypes. Dtypes:
    /// `[src, dst]`, equal.
    TopK(TopK),
    /// The u32 positions of the first elements of a stable sort of the last dimension. All dtypes.
    /// Dtypes: `[src, dst]`, dst u32.
    ArgTopK(TopK),
    /// `dst[i][j] = src[ids[i][j]][j]` for dimension 0, others alike; ids of the result's shape.
    /// All dtypes, ids u8, u32, i64. Dtypes: `[src, ids, dst]`.
    Gather {
        /// The dimension that ids count along.
        dim: usize,
    },
    /// `dst[i][j] = src[ids[i]][j]` for dimension 0, others alike; ids of one dimension. All
    /// dtypes, ids u8, u32, i64. Dtypes: `[src, ids, dst]`.
    IndexSelect {
        /// The dimension that ids count along.
        dim: usize,
    },
    /// A copy of the first operand with `[ids[i][j]][j] = src[i][j]` for dimension 0, others alike;
    /// of equal ids the last in row-major order stays. The first operand may be the destination.
    /// All dtypes, ids u8, u32, i64. Dtypes: `[self, ids, src, dst]`.
    ScatterSet {
        /// The dimension that ids count along.
        dim: usize,
    },
    /// As `ScatterSet`, adding: in the compute type, in row-major order of the source, rounded
    /// once. Dtypes: `[self, ids, src, dst]`.
    ScatterAdd {
        /// The dimension that ids count along.
        dim: usize,
    },
    /// As `ScatterAdd` with ids of one dimension: `[ids[i]][j] += src[i][j]` for dimension 0,
    /// others alike. Dtypes: `[self, ids, src, dst]`.
    IndexAdd {
        /// The dimension that ids count along.
        dim: usize,
    },
    /// See [`Conv1d`]. f16, bf16, f32, f64. Dtypes: `[src, kernel, dst]`, equal.
    Conv1d(Conv1d),
    /// See [`Conv2d`]. f16, bf16, f32, f64. Dtypes: `[src, kernel, dst]`, equal.
    Conv2d(Conv2d),
    /// See [`ConvTranspose1d`]. f16, bf16, f32, f64. Dtypes: `[src, kernel, dst]`, equal.
    ConvTranspose1d(ConvTranspose1d),
    /// See [`ConvTranspose2d`]. f16, bf16, f32, f64. Dtypes: `[src, kernel, dst]`, equal.
    ConvTranspose2d(ConvTranspose2d),
    /// Averages of windows; see [`Pool2d`]. Floats. Dtypes: `[src, dst]`, equal.
    AvgPool2d(Pool2d),
    /// Maxima of windows; see [`Pool2d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    MaxPool2d(Pool2d),
    /// See [`UpsampleNearest1d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    UpsampleNearest1d(UpsampleNearest1d),
    /// See [`UpsampleNearest2d`]. All dtypes. Dtypes: `[src, dst]`, equal.
    UpsampleNearest2d(UpsampleNearest2d),
    /// See [`UpsampleBilinear2d`]. Floats. Dtypes: `[src, dst]`, equal.
    UpsampleBilinear2d(UpsampleBilinear2d),
    /// See [`RandUniform`]. f16, bf16, f32, f64. Dtypes: `[dst]`.
    RandUniform(RandUniform),
    /// See [`RandNormal`]. f16, bf16, f32, f64. Dtypes: `[dst]`.
    RandNormal(RandNormal),
    /// Blocks of each row of `[.., k]`, as bytes. f32, f16, bf16. Dtypes: `[src, dst]`, dst u8.
    Quantize(GgmlDType),
    /// The elements of each row of blocks. f32, f16, bf16. Dtypes: `[src, dst]`, src u8.
    Dequantize(GgmlDType),
    /// See [`QMatmul`]. Dtypes: `[weight, x, dst]`, the first u8, the others f32, f16 or bf16 and
    /// equal.
    QMatmul(QMatmul),
    /// A product with one of several quantized matrices, chosen for each row: u8 `[experts, n,
    /// bytes of k]`, `x` `[tokens, 1 or top, k]`, ids u32 `[tokens, top]`, result `[tokens, top,
    /// n]`. Ids behave as those of `IndexSelect`: a padding mark gives a row of 0. Dtypes:
    /// `[weight, x, ids, dst]`, the first u8, ids u32, the others f32, f16 or bf16 and equal.
    QMatmulId(QMatmul),
}

impl Op {
    /// The name, as kernels, reports and the command line spell it: the name of the method that
    /// asks for it, which is candle's where candle has one. So [`Op::Copy`] is `copy_strided_src`,
    /// [`Op::Fill`] is `const_set`, and [`Op::ScatterAdd`] is `scatter_add_set`.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Fill(_) => "const_set",
            Op::Copy => "copy_strided_src",
            Op::Cast => "cast",
            Op::Affine(_) => "affine",
            Op::Powf(_) => "powf",
            Op::Elu(_) => "elu",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Cmp(op) => op.name(),
            Op::WhereCond => "where_cond",
            Op::Reduce(r) => r.op.name(),
            Op::Matmul(_) => "matmul",
            Op::Clamp(_) => "clamp",
            Op::Triangle(t) => {
                if t.upper {
                    "triu"
                } else {
                    "tril"
                }
            }
            Op::AddActivation(a) => match a {
                Activation::Relu => "add_relu",
                Activation::Gelu => "add_gelu",
                Activation::GeluErf => "add_gelu_erf",
                Activation::Silu => "add_silu",
            },
            Op::CumSum(_) => "cumsum",
            Op::Softmax => "softmax",
            Op::LogSoftmax => "log_softmax",
            Op::RmsNorm { .. } => "rms_norm",
            Op::LayerNorm { .. } => "layer_norm",
            Op::Rope(form) => form.name(),
            Op::Sort(_) => "sort",
            Op::ArgSort(_) => "argsort",
            Op::TopK(_) => "topk",
            Op::ArgTopK(_) => "argtopk",
            Op::Gather { .. } => "gather",
            Op::IndexSelect { .. } => "index_select",
            Op::ScatterSet { .. } => "scatter_set",
            Op::ScatterAdd { .. } => "scatter_add_set",
            Op::IndexAdd { .. } => "index_add",
            Op::Conv1d(_) => "conv1d",
            Op::Conv2d(_) => "conv2d",
            Op::ConvTranspose1d(_) => "conv_transpose1d",
            Op::ConvTranspose2d(_) => "conv_transpose2d",
            Op::AvgPool2d(_) => "avg_pool2d",
            Op::MaxPool2d(_) => "max_pool2d",
            Op::UpsampleNearest1d(_) => "upsample_nearest1d",
            Op::UpsampleNearest2d(_) => "upsample_nearest2d",
            Op::UpsampleBilinear2d(_) => "upsample_bilinear2d",
            Op::RandUniform(_) => "rand_uniform",
            Op::RandNormal(_) => "rand_normal",
            Op::Quantize(f) => QUANTIZE[f.index()],
            Op::Dequantize(f) => DEQUANTIZE[f.index()],
            Op::QMatmul(q) => QMATMUL[q.activations as usize][q.format.index()],
            Op::QMatmulId(q) => QMATMUL_ID[q.activations as usize][q.format.index()],
        }
    }

    /// Who computes it, where the parameters say so.
    pub fn numerics(&self) -> Option<Numerics> {
        match self {
            Op::Matmul(op) => op.numerics,
            Op::Conv1d(op) => op.numerics,
            Op::Conv2d(op) => op.numerics,
            Op::ConvTranspose1d(op) => op.numerics,
            Op::ConvTranspose2d(op) => op.numerics,
            Op::RandUniform(op) => op.numerics,
            Op::RandNormal(op) => op.numerics,
            _ => None,
        }
    }

    /// The operation computed by whom `numerics` says; unchanged where only kernels of the tree
    /// compute it.
    pub fn with_numerics(mut self, numerics: Option<Numerics>) -> Self {
        match &mut self {
            Op::Matmul(op) => op.numerics = numerics,
            Op::Conv1d(op) => op.numerics = numerics,
            Op::Conv2d(op) => op.numerics = numerics,
            Op::ConvTranspose1d(op) => op.numerics = numerics,
            Op::ConvTranspose2d(op) => op.numerics = numerics,
            Op::RandUniform(op) => op.numerics = numerics,
            Op::RandNormal(op) => op.numerics = numerics,
            _ => {}
        }
        self
    }

    /// Whether an input may be the destination itself: the operation then works in place.
    pub fn takes_dst(&self, input: usize) -> bool {
        match self {
            Op::Copy
            | Op::Affine(_)
            | Op::Powf(_)
            | Op::Elu(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Cmp(_)
            | Op::WhereCond
            | Op::Clamp(_)
            | Op::Triangle(_)
            | Op::AddActivation(_) => true,
            Op::ScatterSet { .. } | Op::ScatterAdd { .. } | Op::IndexAdd { .. } => input == 0,
            _ => false,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
