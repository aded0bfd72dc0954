//! Parameters of elementwise operations, reductions and products.

use super::ReduceOp;
use crate::{DType, Numerics};

/// A conversion to another dtype, and what it gives beyond the largest number of a float of 8 bits.
///
/// By its own rule f8e4m3 saturates: magnitudes above 448 give 448, infinities included. f8e5m2
/// overflows as IEEE 754 does: magnitudes from 61440 up give infinity. A cast can ask for the other
/// rule: f8e4m3 without saturation gives NaN above 464 and for infinities, as PyTorch's; f8e5m2
/// with saturation gives 57344 above it, also for infinities. Conversions to other dtypes, and to
/// the dtype that the elements have, are the same with any rule.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, Cast, CpuDevice, DType, Layout};
/// # use isobit_hal::{F8E4M3, F8E5M2};
/// let (x, l) = (CpuDevice.storage_from_slice(&[500.0f32, 1e6])?, Layout::contiguous(2));
/// let y = x.to_dtype(&l, DType::F8E5M2)?;
/// assert_eq!(y.to_vec::<F8E5M2>()?, [512.0, f32::INFINITY].map(F8E5M2::from_f32));
/// let y = x.to_dtype_with(&l, DType::F8E5M2, Cast::saturating())?;
/// assert_eq!(y.to_vec::<F8E5M2>()?, [512.0, 57344.0].map(F8E5M2::from_f32));
/// let y = x.to_dtype_with(&l, DType::F8E4M3, Cast::non_saturating())?;
/// assert!(y.to_vec::<F8E4M3>()?[0].is_nan());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Cast {
    /// Whether magnitudes beyond the largest number give that number; `None` takes the dtype's own
    /// rule.
    pub saturate: Option<bool>,
}

impl Cast {
    /// Creates a conversion that saturates.
    pub const fn saturating() -> Self {
        Self { saturate: Some(true) }
    }

    /// Creates a conversion that overflows to infinity, or to NaN if the dtype has no infinity.
    pub const fn non_saturating() -> Self {
        Self { saturate: Some(false) }
    }

    /// Whether the conversion to a dtype follows the rule that the dtype has by itself.
    pub const fn is_own_rule(self, dtype: DType) -> bool {
        match self.saturate {
            Some(saturate) if dtype.is_f8() => saturate == matches!(dtype, DType::F8E4M3),
            _ => true,
        }
    }
}

/// `x * mul + add`. Floats: one fma in the compute type, to which `mul` and `add` are rounded
/// first. Integers: `mul` and `add` are cast to the dtype (truncated, saturating, NaN to 0), and
/// the arithmetic wraps.
///
/// ```rust
/// # use isobit_hal::{Affine, BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// let op = Op::Affine(Affine::new(2.0, 0.5));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous(2))])?;
/// assert_eq!(y.to_vec::<f32>()?, [2.5, 4.5]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Affine {
    /// The factor.
    pub mul: f64,
    /// The summand.
    pub add: f64,
}

impl Affine {
    /// Creates `x * mul + add`.
    pub const fn new(mul: f64, add: f64) -> Self {
        Self { mul, add }
    }
}

/// `x^exponent`, with the exponent rounded to the compute type. *Floats.*
///
/// A few exponents have [recipes](PowfRecipe) of their own; all others are computed like
/// [`BinaryOp::Pow`](super::BinaryOp::Pow).
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Powf};
/// let x = CpuDevice.storage_from_slice(&[2.0f32, -1.0])?;
/// let y = CpuStorage::apply(&Op::Powf(Powf::new(3.0)), &[(&x, &Layout::contiguous(2))])?;
/// assert_eq!(y.to_vec::<f32>()?, [8.0, -1.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Powf {
    /// The exponent.
    pub exponent: f64,
}

impl Powf {
    /// Creates `x^exponent`.
    pub const fn new(exponent: f64) -> Self {
        Self { exponent }
    }

    /// Returns how powers of a dtype are computed.
    ///
    /// ```rust
    /// # use isobit_hal::{DType, Powf, PowfRecipe};
    /// assert_eq!(Powf::new(2.0).recipe(DType::F32), PowfRecipe::Square);
    /// assert_eq!(Powf::new(1.7).recipe(DType::F32), PowfRecipe::Pow);
    /// ```
    pub fn recipe(self, dtype: DType) -> PowfRecipe {
        let exponent = if dtype == DType::F64 { self.exponent } else { (self.exponent as f32).into() };
        match exponent {
            1.0 => PowfRecipe::Itself,
            2.0 => PowfRecipe::Square,
            3.0 => PowfRecipe::Cube,
            -1.0 => PowfRecipe::Reciprocal,
            -2.0 => PowfRecipe::InverseSquare,
            0.5 => PowfRecipe::Root,
            -0.5 => PowfRecipe::InverseRoot,
            _ => PowfRecipe::Pow,
        }
    }
}

/// How [`Powf`] computes powers, by the exponent: see `docs/numerics.md`, section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowfRecipe {
    /// As [`BinaryOp::Pow`](super::BinaryOp::Pow).
    Pow,
    /// The element itself, for an exponent of 1.
    Itself,
    /// As [`UnaryOp::Sqr`](super::UnaryOp::Sqr), for an exponent of 2.
    Square,
    /// `x * (x * x)`, for an exponent of 3.
    Cube,
    /// As [`UnaryOp::Recip`](super::UnaryOp::Recip), for an exponent of -1.
    Reciprocal,
    /// The square of `1 / x`, for an exponent of -2.
    InverseSquare,
    /// As [`UnaryOp::Sqrt`](super::UnaryOp::Sqrt), but +0 at -0 and infinity at minus infinity, for
    /// an exponent of 1/2.
    Root,
    /// As [`UnaryOp::Rsqrt`](super::UnaryOp::Rsqrt), but infinity at -0 and +0 at minus infinity,
    /// for an exponent of -1/2.
    InverseRoot,
}

/// ELU (Clevert, Unterthiner and Hochreiter 2015,
/// [arXiv:1511.07289](https://arxiv.org/abs/1511.07289)): `x` if x > 0, else `alpha * (e^x - 1)`,
/// with alpha rounded to the compute type. *Floats.*
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Elu, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[3.0f32, 0.0, f32::NEG_INFINITY])?;
/// let y = CpuStorage::apply(&Op::Elu(Elu::new(2.0)), &[(&x, &Layout::contiguous(3))])?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 0.0, -2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Elu {
    /// The factor of the negative branch.
    pub alpha: f64,
}

impl Elu {
    /// Creates an ELU with the given alpha.
    pub const fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

/// Leaky ReLU (Maas, Hannun and Ng 2013, *Rectifier nonlinearities improve neural network acoustic
/// models*): `x` if x > 0, else `negative_slope * x`, with the slope rounded to the compute type.
/// *Floats.*
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, LeakyRelu, Op};
/// let x = CpuDevice.storage_from_slice(&[3.0f32, -0.0, -2.0])?;
/// let op = Op::LeakyRelu(LeakyRelu::new(0.25));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous(3))])?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, -0.0, -0.5]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LeakyRelu {
    /// The slope of the negative branch.
    pub negative_slope: f64,
}

impl LeakyRelu {
    /// Creates a leaky ReLU with the given slope.
    pub const fn new(negative_slope: f64) -> Self {
        Self { negative_slope }
    }
}

/// CELU (Barron 2017, [arXiv:1704.07483](https://arxiv.org/abs/1704.07483)): `x` if x > 0, else
/// `alpha * (e^(x / alpha) - 1)`, with alpha rounded to the compute type. As alpha grows, the
/// negative branch tends to `x`, which is also the result for an infinite alpha. An alpha of 0
/// gives a NaN for zeros, and zeros below. *Floats.*
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, Celu, CpuDevice, CpuStorage, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[3.0f32, 0.0, f32::NEG_INFINITY])?;
/// let y = CpuStorage::apply(&Op::Celu(Celu::new(2.0)), &[(&x, &Layout::contiguous(3))])?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 0.0, -2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Celu {
    /// The scale of the negative branch: the negative of its limit.
    pub alpha: f64,
}

impl Celu {
    /// Creates a CELU with the given alpha.
    pub const fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

/// A copy of `rows` rows of `cols` elements between two buffers, each with its own row stride.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Copy2d};
/// let src = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?; // rows of 3
/// let mut dst = CpuDevice.storage_from_slice(&[0u8; 4])?; // rows of 2
/// src.copy2d(&mut dst, Copy2d::new(2, 2).with_strides(3, 2).with_offsets(1, 0))?;
/// assert_eq!(dst.to_vec::<u8>()?, [2, 3, 5, 6]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy2d {
    /// Number of rows to copy.
    pub rows: usize,
    /// Elements per row.
    pub cols: usize,
    /// Elements from the start of one row of the source to the next.
    pub src_stride: usize,
    /// Elements from the start of one row of the destination to the next; at least `cols`.
    pub dst_stride: usize,
    /// Index of the first element in the source.
    pub src_offset: usize,
    /// Index of the first element in the destination.
    pub dst_offset: usize,
}

impl Copy2d {
    /// Creates a copy of contiguous rows, from the start of both buffers.
    pub const fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, src_stride: cols, dst_stride: cols, src_offset: 0, dst_offset: 0 }
    }

    /// Sets the row strides.
    pub const fn with_strides(mut self, src_stride: usize, dst_stride: usize) -> Self {
        self.src_stride = src_stride;
        self.dst_stride = dst_stride;
        self
    }

    /// Sets the indices of the first elements.
    pub const fn with_offsets(mut self, src_offset: usize, dst_offset: usize) -> Self {
        self.src_offset = src_offset;
        self.dst_offset = dst_offset;
        self
    }
}

/// A reduction over a set of dimensions. The result keeps these dimensions, with size 1.
///
/// A source's layout may overlap itself, so windows are dimensions too: a pool of any kind, rank,
/// stride and dilation is a reduction of a layout whose windows are its last dimensions. Below, the
/// sums of three neighbours.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Dims, Layout, Reduce, ReduceOp};
/// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4, 5])?;
/// let windows = Layout::new((3, 3), Dims::from_slice(&[1, 1]), 0)?;
/// let sums = x.reduce(&windows, &Reduce::new(ReduceOp::Sum, &[1]))?;
/// assert_eq!(sums.to_vec::<i32>()?, [6, 9, 12]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Reduce, ReduceOp};
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let l = Layout::contiguous((2, 3));
/// let rows = x.reduce(&l, &Reduce::new(ReduceOp::Sum, &[1]))?;
/// assert_eq!(rows.to_vec::<f32>()?, [6.0, 15.0]);
/// let all = x.reduce(&l, &Reduce::new(ReduceOp::Sum, &[0, 1]))?;
/// assert_eq!(all.to_vec::<f32>()?, [21.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reduce {
    /// The reduction.
    pub op: ReduceOp,
    /// The dimensions to reduce, each at most once, in any order: the elements are always taken in
    /// row-major order of the tensor. If empty, every element is reduced by itself.
    pub dims: crate::Dims,
    /// What [`ReduceOp::Var`] and [`ReduceOp::Std`] subtract from the count before they divide by
    /// it; others ignore it.
    pub correction: u32,
    /// Whether [`ReduceOp::Min`] and [`ReduceOp::Max`] over zero elements give the dtype's largest
    /// and least value instead of an error; others ignore it.
    pub empty_extremes: bool,
}

impl Reduce {
    /// Creates a reduction over the given dimensions, with a correction of 1.
    pub fn new(op: ReduceOp, dims: &[usize]) -> Self {
        Self { op, dims: dims.into(), correction: 1, empty_extremes: false }
    }

    /// Sets what the variance and the standard deviation subtract from the count before they divide
    /// by it, as PyTorch's `correction`: 1 estimates the variance of the distribution that the
    /// elements are a sample of (Bessel's correction), 0 gives that of the elements themselves. If
    /// nothing is left of the count, the result is that of a division by 0: infinity, or NaN if all
    /// elements are equal.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Reduce, ReduceOp};
    /// let l = Layout::contiguous(4);
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 3.0, 5.0, 7.0])?;
    /// let var = Reduce::new(ReduceOp::Var, &[0]);
    /// assert_eq!(x.reduce(&l, &var)?.to_vec::<f32>()?, [20.0 / 3.0]);
    /// assert_eq!(x.reduce(&l, &var.with_correction(0))?.to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    pub fn with_correction(mut self, correction: u32) -> Self {
        self.correction = correction;
        self
    }

    /// Lets a minimum over zero elements be the dtype's largest value, and a maximum its least:
    /// infinities for floats (448 and -448 for f8e4m3), and the ends of the range for integers.
    /// Combined with any element by minimum or maximum, they give the element.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Reduce, ReduceOp};
    /// let (x, l) = (CpuDevice.storage_from_slice::<f32>(&[])?, Layout::contiguous((2, 0)));
    /// let max = Reduce::new(ReduceOp::Max, &[1]);
    /// assert!(x.reduce(&l, &max).is_err());
    /// let y = x.reduce(&l, &max.with_empty_extremes())?;
    /// assert_eq!(y.to_vec::<f32>()?, [f32::NEG_INFINITY; 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    pub fn with_empty_extremes(mut self) -> Self {
        self.empty_extremes = true;
        self
    }

    /// Whether the reduction over zero elements is an error.
    pub const fn needs_elements(&self) -> bool {
        self.op.needs_elements() && (self.op.is_arg() || !self.empty_extremes)
    }

    /// Returns the divisor of a variance of `n` elements.
    pub const fn divisor(&self, n: usize) -> usize {
        n.saturating_sub(self.correction as usize)
    }
}

/// A batched matrix product `[.., m, k] x [.., k, n] -> [.., m, n]`. The batch dimensions broadcast
/// by NumPy's rules: they are matched starting with the last, and one of size 1, or one that an
/// operand lacks, repeats. Floats, and the integers u32, i32 and i64, whose products wrap; integers
/// have the same result with any numerics. For bytes there is
/// [`MatmulInteger`](super::MatmulInteger).
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Matmul};
/// let l = Layout::contiguous((2, 2));
/// let a = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let b = CpuDevice.storage_from_slice(&[5.0f32, 6.0, 7.0, 8.0])?;
/// let c = a.matmul(&l, &b, &l, Matmul::default())?;
/// assert_eq!(c.to_vec::<f32>()?, [19.0, 22.0, 43.0, 50.0]);
/// let batch = Layout::contiguous((2, 1, 2)); // of two rows, each by the same matrix
/// let c = a.matmul(&batch, &b, &l, Matmul::default())?;
/// assert_eq!(c.to_vec::<f32>()?, [19.0, 22.0, 43.0, 50.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Matmul {
    /// Vendor library or portable kernel; `None` takes the device's default.
    pub numerics: Option<Numerics>,
}

impl Matmul {
    /// Returns the bytes per integer of [block products](Numerics::Block) of a dtype: 2 of f8e4m3
    /// and bf16, 3 of f16 and f32. `None` if products of the dtype are chains with any numerics of
    /// Isobit's own kernels.
    pub const fn block_digits(dtype: DType) -> Option<usize> {
        match dtype {
            DType::F8E4M3 | DType::BF16 => Some(2),
            DType::F16 | DType::F32 => Some(3),
            _ => None,
        }
    }

    /// Creates a product with the given numerics.
    pub const fn with_numerics(numerics: Numerics) -> Self {
        Self { numerics: Some(numerics) }
    }
}

/// `min(max(x, min), max)`, with the rules of [`BinaryOp::Maximum`](super::BinaryOp::Maximum) and
/// [`Minimum`](super::BinaryOp::Minimum): NaN stays NaN, and if `min > max` the result is `max`.
/// The limits are rounded like the parameters of [`Affine`]. A NaN limit gives NaN for floats, and
/// counts as 0 for integers.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, Clamp, CpuDevice, CpuStorage, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[-1.0f32, 0.5, 2.0])?;
/// let y = CpuStorage::apply(&Op::Clamp(Clamp::new(0.0, 1.0)), &[(&x, &Layout::contiguous(3))])?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Clamp {
    /// The lower limit.
    pub min: f64,
    /// The upper limit.
    pub max: f64,
}

impl Clamp {
    /// Creates a clamp to the given limits.
    pub const fn new(min: f64, max: f64) -> Self {
        Self { min, max }
    }
}

/// Keeps one triangle of the matrices in the last two dimensions and sets the other elements to 0.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Triangle};
/// let ones = CpuDevice.storage_from_slice(&[1.0f32; 9])?;
/// let op = Op::Triangle(Triangle::lower(0)); // of ones: a causal mask
/// let mask = CpuStorage::apply(&op, &[(&ones, &Layout::contiguous((3, 3)))])?;
/// assert_eq!(mask.to_vec::<f32>()?, [1., 0., 0., 1., 1., 0., 1., 1., 1.]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triangle {
    /// Whether to keep the upper triangle (`column - row >= diagonal`) or the lower one (`column -
    /// row <= diagonal`).
    pub upper: bool,
    /// The last diagonal that is kept: 0 is the main diagonal, positive ones lie above it.
    pub diagonal: i64,
}

impl Triangle {
    /// Keeps the elements on and below a diagonal.
    pub const fn lower(diagonal: i64) -> Self {
        Self { upper: false, diagonal }
    }

    /// Keeps the elements on and above a diagonal.
    pub const fn upper(diagonal: i64) -> Self {
        Self { upper: true, diagonal }
    }
}
