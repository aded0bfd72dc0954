//! Parameters of elementwise operations, reductions and products.

use super::ReduceOp;
use crate::Numerics;

/// `x * mul + add`. Floats: one fma in the compute type, to which `mul` and `add` are rounded
/// first. Integers: `mul` and `add` are cast to the dtype (truncated, saturating, NaN to 0), and
/// the arithmetic wraps.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Affine {
    /// The factor.
    pub mul: f64,
    /// The summand.
    pub add: f64,
}

impl Affine {
    /// `x * mul + add`.
    pub const fn new(mul: f64, add: f64) -> Self {
        Self { mul, add }
    }
}

/// `x^exponent`, as [`BinaryOp::Pow`](super::BinaryOp::Pow) with the exponent rounded to the
/// compute type. *Floats.*
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Powf {
    /// The exponent.
    pub exponent: f64,
}

impl Powf {
    /// `x^exponent`.
    pub const fn new(exponent: f64) -> Self {
        Self { exponent }
    }
}

/// `x` where x > 0, else `alpha * (e^x - 1)`, with alpha rounded to the compute type. *Floats.*
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Elu {
    /// The factor of the negative branch.
    pub alpha: f64,
}

impl Elu {
    /// ELU with a given alpha.
    pub const fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

/// A copy of `rows` rows of `cols` elements between buffers with a stride from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy2d {
    /// Rows to copy.
    pub rows: usize,
    /// Elements in a row.
    pub cols: usize,
    /// Elements from a row of the source to the next.
    pub src_stride: usize,
    /// Elements from a row of the destination to the next; at least `cols`.
    pub dst_stride: usize,
    /// The first element of the source.
    pub src_offset: usize,
    /// The first element of the destination.
    pub dst_offset: usize,
}

impl Copy2d {
    /// Rows that lie one behind the other in both buffers, from their start.
    pub const fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, src_stride: cols, dst_stride: cols, src_offset: 0, dst_offset: 0 }
    }

    /// With given distances from row to row.
    pub const fn with_strides(mut self, src_stride: usize, dst_stride: usize) -> Self {
        self.src_stride = src_stride;
        self.dst_stride = dst_stride;
        self
    }

    /// With given first elements.
    pub const fn with_offsets(mut self, src_offset: usize, dst_offset: usize) -> Self {
        self.src_offset = src_offset;
        self.dst_offset = dst_offset;
        self
    }
}

/// A reduction over a set of dimensions, which stay in the result with size 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reduce {
    /// What is computed.
    pub op: ReduceOp,
    /// The dimensions, each at most once, in any order: the elements are taken in row-major order
    /// of the tensor either way. None reduces every element by itself.
    pub dims: crate::Dims,
}

impl Reduce {
    /// A reduction over some dimensions.
    pub fn new(op: ReduceOp, dims: &[usize]) -> Self {
        Self { op, dims: dims.into() }
    }
}

/// A batched matrix product `[.., m, k] x [.., k, n] -> [.., m, n]` with equal batch dimensions
/// (broadcast one by a stride of 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Matmul {
    /// Who computes it; `None` takes the device's default.
    pub numerics: Option<Numerics>,
}

impl Matmul {
    /// With given numerics.
    pub const fn with_numerics(numerics: Numerics) -> Self {
        Self { numerics: Some(numerics) }
    }
}

/// `min(max(x, min), max)` as [`BinaryOp::Maximum`](super::BinaryOp::Maximum) and
/// [`Minimum`](super::BinaryOp::Minimum): NaN stays NaN, and where `min` is above `max` the result
/// is `max`. The limits are rounded as [`Affine`]'s parameters are; a limit that is NaN gives NaN
/// (of integers it is 0).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Clamp {
    /// The smallest result.
    pub min: f64,
    /// The largest result.
    pub max: f64,
}

impl Clamp {
    /// Between two limits.
    pub const fn new(min: f64, max: f64) -> Self {
        Self { min, max }
    }
}

/// Sums of everything up to each element along a dimension, in the compute type; integers wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CumSum {
    /// The dimension.
    pub dim: usize,
}

impl CumSum {
    /// Along a dimension.
    pub const fn new(dim: usize) -> Self {
        Self { dim }
    }
}

/// One triangle of the matrices in the last two dimensions; the other elements become 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triangle {
    /// The upper triangle (`column - row >= diagonal`); else the lower one (`column - row <=
    /// diagonal`).
    pub upper: bool,
    /// The diagonal where the triangle ends, itself included: 0 the main one, above it positive.
    pub diagonal: i64,
}

impl Triangle {
    /// What lies on and below a diagonal.
    pub const fn lower(diagonal: i64) -> Self {
        Self { upper: false, diagonal }
    }

    /// What lies on and above a diagonal.
    pub const fn upper(diagonal: i64) -> Self {
        Self { upper: true, diagonal }
    }
}
