//! The dtypes that each operation takes and returns.

use super::quantized::is_activation;
use super::{Attention, BatchNorm, Interpolation, MatmulInteger, Op, Pad, PadMode, ScatterOp};
use crate::{DType, Error, ErrorKind, Result};

/// The number of operands of an operation (including the destination), a description of the dtypes
/// it takes, and whether it takes the given ones.
struct DtypeRule {
    operands: usize,
    what: &'static str,
    holds: bool,
}

impl DtypeRule {
    fn new(operands: usize, what: &'static str, holds: bool) -> Self {
        Self { operands, what, holds }
    }
}

fn equal(dtypes: &[DType]) -> bool {
    dtypes.windows(2).all(|w| w[0] == w[1])
}

impl DType {
    /// Whether the dtype is u16, u64 or f8e5m2. These are moved, sorted, converted, compared and
    /// computed with element by element. Operations that combine elements, such as reductions,
    /// scans, norms, pools and products, do not take them: cast first.
    ///
    /// ```rust
    /// use isobit_hal::{BinaryOp, DType, Op, Reduce, ReduceOp};
    ///
    /// assert!(DType::U16.is_elementwise() && !DType::I16.is_elementwise());
    /// assert!(Op::Binary(BinaryOp::Add).check_dtypes(&[DType::U16; 3]).is_ok());
    /// let sum = Op::Reduce(Reduce::new(ReduceOp::Sum, &[0]));
    /// assert!(sum.check_dtypes(&[DType::U16; 2]).is_err());
    /// ```
    pub const fn is_elementwise(self) -> bool {
        matches!(self, DType::U16 | DType::U64 | DType::F8E5M2)
    }
}

fn any(operands: usize, ds: &[DType]) -> DtypeRule {
    DtypeRule::new(operands, "operands of one dtype", equal(ds))
}

fn floats(operands: usize, ds: &[DType]) -> DtypeRule {
    DtypeRule::new(operands, "floats of one dtype", equal(ds) && ds.iter().all(|d| d.is_float()))
}

/// [`any`], for operations that combine elements.
fn combined(operands: usize, ds: &[DType]) -> DtypeRule {
    let holds = equal(ds) && !ds.iter().any(|d| d.is_elementwise());
    DtypeRule::new(operands, "operands of one dtype other than u16, u64 and f8e5m2", holds)
}

/// [`floats`], for operations that combine elements.
fn combined_floats(operands: usize, ds: &[DType]) -> DtypeRule {
    let holds = equal(ds) && ds.iter().all(|d| d.is_float() && !d.is_elementwise());
    DtypeRule::new(operands, "floats of one dtype other than f8e5m2", holds)
}

/// Values that an operation combines into a result of another dtype.
fn combined_to(result: DType, what: &'static str, ds: &[DType]) -> DtypeRule {
    DtypeRule::new(2, what, matches!(ds, [src, dst] if !src.is_elementwise() && *dst == result))
}

/// Elements that an operation compares, whose positions are the result.
fn combined_positions(ds: &[DType]) -> DtypeRule {
    let holds = matches!(ds, [src, DType::U32 | DType::I64] if !src.is_elementwise());
    DtypeRule::new(2, "any dtype but u16, u64 and f8e5m2, and a destination of u32 or i64", holds)
}

fn ints(operands: usize, ds: &[DType]) -> DtypeRule {
    DtypeRule::new(operands, "integers of one dtype", equal(ds) && ds.iter().all(|d| d.is_int()))
}

/// The floats that every vendor library computes with, which excludes f8e4m3.
fn wide_floats(operands: usize, ds: &[DType]) -> DtypeRule {
    let wide = |d: &DType| matches!(d, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    DtypeRule::new(operands, "f16, bf16, f32 or f64, all operands the same", equal(ds) && ds.iter().all(wide))
}

fn attention(p: &Attention, ds: &[DType]) -> DtypeRule {
    let operands = p.inputs() + 1;
    let is_lengths = |at: usize| p.has_lengths && at + 2 == operands;
    let fits = |(at, &d): (usize, &DType)| match is_lengths(at) {
        true => d == DType::U32,
        false => d == ds[0] && is_activation(d),
    };
    let what = if p.has_lengths {
        "f16, bf16 or f32, all operands the same but lengths of u32"
    } else {
        "f16, bf16 or f32, all operands the same"
    };
    DtypeRule::new(operands, what, ds.iter().enumerate().all(fits))
}

/// Products sum in a compute type; bytes would wrap at once, and have [`Op::MatmulInteger`].
fn product(ds: &[DType]) -> DtypeRule {
    let is_float = |d: DType| d.is_float() && !d.is_elementwise();
    let takes = |&d: &DType| is_float(d) || matches!(d, DType::U32 | DType::I32 | DType::I64);
    let what = "floats other than f8e5m2, u32, i32 or i64, all operands the same";
    DtypeRule::new(3, what, equal(ds) && ds.iter().all(takes))
}

fn matmul_integer(p: &MatmulInteger, ds: &[DType]) -> DtypeRule {
    let is_byte = |d: DType| matches!(d, DType::U8 | DType::I8);
    let holds = match ds {
        [lhs, rhs, zeros @ .., DType::I32] => {
            let fits = |(side, &zero): (usize, &DType)| zero == [*lhs, *rhs][side];
            is_byte(*lhs) && is_byte(*rhs) && p.zero_points().zip(zeros).all(fits)
        }
        _ => false,
    };
    let what = "operands of u8 or i8, zero points of the dtype of their operand, and an i32 destination";
    DtypeRule::new(p.inputs() + 1, what, holds)
}

fn batch_norm(p: &BatchNorm, ds: &[DType]) -> DtypeRule {
    let holds = match ds {
        [src, mean, variance, others @ ..] => {
            let statistics = [src.compute(), *mean, *variance];
            equal(&statistics) && combined_floats(1, &[&[*src], others].concat()).holds
        }
        _ => false,
    };
    let what = "floats of one dtype other than f8e5m2, with a mean and a variance of f64 for f64, else f32";
    DtypeRule::new(p.inputs() + 1, what, holds)
}

fn scaled_matmul(ds: &[DType]) -> DtypeRule {
    let is_f8 = |d: DType| matches!(d, DType::F8E4M3 | DType::F8E5M2);
    let holds = matches!(ds, [lhs, rhs, DType::F32, DType::F32, dst]
        if is_f8(*lhs) && is_f8(*rhs) && is_activation(*dst));
    DtypeRule::new(5, "operands of f8e4m3 or f8e5m2, scales of f32, and an f16, bf16 or f32 destination", holds)
}

fn positions(ds: &[DType]) -> DtypeRule {
    DtypeRule::new(2, "a destination of u32 or i64", matches!(ds.last(), Some(DType::U32 | DType::I64)))
}

fn is_condition(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::U32 | DType::I64)
}

fn is_packable(dtype: DType) -> bool {
    use DType::{BF16, F16, F32, F64, I8, I32, U8};
    matches!(dtype, F32 | F16 | BF16 | F64 | U8 | I8 | I32)
}

fn is_id(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::U32 | DType::I32 | DType::I64)
}

impl Op {
    fn dtype_rule(&self, ds: &[DType]) -> DtypeRule {
        match self {
            Op::Fill(_) => DtypeRule::new(1, "", true),
            Op::Cast(_) => DtypeRule::new(2, "", true),
            Op::Copy
            | Op::Affine(_)
            | Op::Clamp(_)
            | Op::Triangle(_)
            | Op::Sort(_)
            | Op::TopK(_)
            | Op::UpsampleNearest1d(_)
            | Op::UpsampleNearest2d(_)
            | Op::Flip(_)
            | Op::Roll(_)
            | Op::Pad(_)
            | Op::Repeat(_) => any(2, ds),
            Op::Scan(_) | Op::MaxPool1d(_) | Op::MaxPool2d(_) | Op::MaxPool3d(_) => combined(2, ds),
            Op::AdaptiveMaxPool(_) => combined(2, ds),
            Op::Concat(p) => any(p.inputs.saturating_add(1), ds),
            Op::Unary(u) if u.is_int_only() => ints(2, ds),
            Op::Unary(u) if !u.is_float_only() => any(2, ds),
            Op::Powf(_) | Op::Elu(_) | Op::LeakyRelu(_) | Op::Celu(_) | Op::Unary(_) => floats(2, ds),
            Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_) => combined_floats(2, ds),
            Op::Resize(p) if p.mode == Interpolation::Nearest => any(2, ds),
            Op::AdaptiveAvgPool(_) | Op::LpPool(_) => combined_floats(2, ds),
            Op::Softmax | Op::SafeSoftmax | Op::LogSoftmax | Op::UpsampleBilinear2d(_) | Op::Resize(_) => {
                combined_floats(2, ds)
            }
            Op::Binary(b) if b.is_int_only() => ints(3, ds),
            Op::Binary(b) if b.is_float_only() => floats(3, ds),
            Op::Binary(_) => any(3, ds),
            Op::AddActivation(_) | Op::RmsNorm { .. } => combined_floats(3, ds),
            Op::Matmul(_) => product(ds),
            Op::MatmulInteger(p) => matmul_integer(p, ds),
            Op::ScaledMatmul(_) => scaled_matmul(ds),
            Op::LayerNorm(p) => combined_floats(p.inputs() + 1, ds),
            Op::LayerNormStats { .. } => {
                let holds = matches!(ds, [src, dst] if combined_floats(1, &[*src]).holds && *dst == src.compute());
                DtypeRule::new(2, "floats other than f8e5m2, and a destination of f64 for f64, else f32", holds)
            }
            Op::GroupNorm(p) => combined_floats(p.inputs() + 1, ds),
            Op::BatchNorm(p) => batch_norm(p, ds),
            Op::LocalResponseNorm(_) => combined_floats(2, ds),
            Op::Rope(_) => combined_floats(4, ds),
            Op::SkipLayerNorm { .. } => combined_floats(6, ds),
            Op::ScaledDotProductAttention(p) => attention(p, ds),
            Op::Conv1d(p) => wide_floats(p.inputs() + 1, ds),
            Op::Conv2d(p) => wide_floats(p.inputs() + 1, ds),
            Op::Conv3d(p) => wide_floats(p.inputs() + 1, ds),
            Op::ConvTranspose1d(p) => wide_floats(p.inputs() + 1, ds),
            Op::ConvTranspose2d(p) => wide_floats(p.inputs() + 1, ds),
            Op::ConvTranspose3d(p) => wide_floats(p.inputs() + 1, ds),
            Op::RandUniform(_) | Op::RandNormal(_) => wide_floats(1, ds),
            Op::Bernoulli(_) => {
                let holds = ds.iter().all(|&d| is_condition(d)) || wide_floats(1, ds).holds;
                DtypeRule::new(1, "a destination of f16, bf16, f32, f64, u8, u32 or i64", holds)
            }
            Op::BernoulliProbs(_) | Op::Dropout(_) => wide_floats(2, ds),
            Op::Cmp(_) => {
                let holds = matches!(ds, [a, b, DType::U8] if a == b);
                DtypeRule::new(3, "two operands of one dtype and a u8 destination", holds)
            }
            Op::Predicate(p) => {
                let holds = matches!(ds, [src, DType::U8] if p.takes(*src));
                let what = if p.is_float_only() { "floats and a u8 destination" } else { "a u8 destination" };
                DtypeRule::new(2, what, holds)
            }
            Op::WhereCond => {
                let holds = matches!(ds, [cond, values @ ..] if is_condition(*cond) && equal(values));
                DtypeRule::new(4, "a condition of u8, u32 or i64 and values of one dtype", holds)
            }
            Op::Reduce(r) if r.op.is_arg() => combined_positions(ds),
            Op::Reduce(r) if r.op.is_logical() => {
                combined_to(DType::U8, "any dtype but u16, u64 and f8e5m2, and a u8 destination", ds)
            }
            Op::Reduce(r) if r.op.is_float_only() => combined_floats(2, ds),
            Op::Reduce(_) => combined(2, ds),
            Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) => combined_positions(ds),
            Op::AdaptiveArgMaxPool(_) => combined_positions(ds),
            Op::AvgPoolBackward(_) | Op::AdaptiveAvgPoolBackward(_) | Op::Col2im(_) => combined_floats(2, ds),
            Op::MaxPoolBackward(_) | Op::AdaptiveMaxPoolBackward(_) => {
                let holds = matches!(ds, [gradient, DType::U32 | DType::I64, dst]
                    if combined_floats(2, &[*gradient, *dst]).holds);
                DtypeRule::new(3, "floats of one dtype other than f8e5m2, and positions of u32 or i64", holds)
            }
            Op::ArgSort(_) | Op::ArgTopK(_) => positions(ds),
            Op::CountNonzero
            | Op::Nonzero { .. }
            | Op::CountUnique
            | Op::UniqueInverse
            | Op::UniqueCounts { .. }
            | Op::UniqueFirst { .. } => positions(ds),
            Op::Unique { .. } => any(2, ds),
            Op::MaskedSelect { .. } | Op::Compress { .. } => {
                let holds = matches!(ds, [src, mask, dst] if src == dst && is_condition(*mask));
                DtypeRule::new(3, "a mask of u8, u32 or i64 and values of one dtype", holds)
            }
            Op::Gather(_) | Op::IndexSelect(_) | Op::GatherNd(_) => {
                let holds = matches!(ds, [src, ids, dst] if src == dst && is_id(*ids));
                DtypeRule::new(3, "ids of u8, u32, i32 or i64 and values of one dtype", holds)
            }
            Op::ScatterSet(_) | Op::ScatterAdd(_) | Op::IndexAdd(_) | Op::ScatterReduce(_) | Op::ScatterNd(_) => {
                let holds = matches!(ds, [to, ids, src, dst] if to == src && src == dst && is_id(*ids));
                if self.scatter_op() == Some(ScatterOp::Set) {
                    return DtypeRule::new(4, "ids of u8, u32, i32 or i64 and values of one dtype", holds);
                }
                let what = "ids of u8, u32, i32 or i64 and values of one dtype other than u16, u64 and f8e5m2";
                DtypeRule::new(4, what, holds && !ds.iter().any(|d| d.is_elementwise()))
            }
            Op::GridSample(_) => {
                let is_grid = |grid, image| match image {
                    DType::F8E4M3 => grid == DType::F32,
                    DType::F64 => grid == image,
                    _ => grid == image || grid == DType::F32,
                };
                let holds = matches!(ds, [image, grid, dst] if image == dst && is_grid(*grid, *image));
                let holds = holds && ds.iter().all(|d| d.is_float() && !d.is_elementwise());
                let what = "an image and a destination of one float dtype other than f8e5m2, and a grid of that dtype or f32 (f32 for f8e4m3, f64 for f64)";
                DtypeRule::new(3, what, holds)
            }
            Op::Pack(_) => {
                let holds = matches!(ds, [src, DType::U8] if is_packable(*src));
                DtypeRule::new(2, "f32, f16, bf16, f64, u8, i8 or i32 and a u8 destination", holds)
            }
            Op::Unpack(_) => {
                let holds = matches!(ds, [DType::U8, dst] if is_packable(*dst));
                DtypeRule::new(2, "packed rows as u8 and a destination of f32, f16, bf16, f64, u8, i8 or i32", holds)
            }
            Op::Quantize(_) => {
                let holds = matches!(ds, [src, DType::U8] if is_activation(*src));
                DtypeRule::new(2, "f32, f16 or bf16 and a u8 destination", holds)
            }
            Op::Dequantize(_) => {
                let holds = matches!(ds, [DType::U8, dst] if is_activation(*dst));
                DtypeRule::new(2, "blocks as u8 and a destination of f32, f16 or bf16", holds)
            }
            Op::QMatmul(_) => {
                let holds = matches!(ds, [DType::U8, x, dst] if x == dst && is_activation(*x));
                DtypeRule::new(3, "blocks as u8, and f32, f16 or bf16 for the activations and the destination", holds)
            }
            Op::QMatmulId(_) => {
                let holds = matches!(ds, [DType::U8, x, DType::U32, dst] if x == dst && is_activation(*x));
                DtypeRule::new(
                    4,
                    "blocks as u8, ids as u32, and f32, f16 or bf16 for the activations and the destination",
                    holds,
                )
            }
        }
    }

    /// Returns the number of inputs.
    pub fn inputs(&self) -> usize {
        self.dtype_rule(&[]).operands - 1
    }

    /// Checks that the operation is defined for these dtypes, inputs first and the destination
    /// last.
    ///
    /// # Errors
    /// `UnsupportedDtype`, with a message that says what the operation takes; `InvalidArgument` if
    /// the number of dtypes is wrong; `UnsupportedOp` if a format has no
    /// [quantizer](crate::GgmlDType::has_quantizer).
    pub fn check_dtypes(&self, dtypes: &[DType]) -> Result<()> {
        let DtypeRule { operands, what, holds } = self.dtype_rule(dtypes);
        if dtypes.len() != operands {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} has {operands} operands, but {} dtypes were given", self.name(), dtypes.len()),
            ));
        }
        let value = match self {
            Op::Fill(value) | Op::Pad(Pad { mode: PadMode::Constant(value), .. }) => Some(value),
            _ => None,
        };
        if let (Some(value), Some(dst)) = (value, dtypes.last())
            && value.dtype() != *dst
        {
            let message =
                format!("{self}: the value is {}, but the storage is {dst}; convert the value first", value.dtype());
            return Err(Error::new(ErrorKind::UnsupportedDtype, message).with_dtypes(dtypes));
        }
        if holds {
            return match self {
                Op::Quantize(format) => format.check_quantizer(),
                _ => Ok(()),
            };
        }
        let given: Vec<_> = dtypes.iter().map(|d| d.as_str()).collect();
        Err(Error::new(
            ErrorKind::UnsupportedDtype,
            format!("{} takes {what}, not ({}); cast the operands first", self.name(), given.join(", ")),
        )
        .with_dtypes(dtypes))
    }
}
