//! Products of bytes with zero points, products of f8 with scales, and the batches over which every
//! product broadcasts.

use super::Matmul;
use super::shapes::batch_shape;
use crate::{Layout, Numerics, Result, Shape};

impl Matmul {
    /// Returns the layouts of both operands over the batch dimensions of the result, with strides
    /// of 0 where an operand repeats. A driver takes them in place of those that it was called
    /// with, so that its kernels and its vendor's library see equal batches.
    ///
    /// ```rust
    /// # use isobit_hal::{Layout, Matmul};
    /// let (x, weights) = (Layout::contiguous((2, 5, 3, 4)), Layout::contiguous((4, 6)));
    /// let [x, weights] = Matmul::broadcast(&x, &weights)?;
    /// assert_eq!((x.dims(), weights.dims()), (&[2, 5, 3, 4][..], &[2, 5, 4, 6][..]));
    /// assert_eq!(weights.stride(), [0, 0, 6, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ShapeMismatch` if a layout has fewer than two dimensions, or the batches do not broadcast.
    pub fn broadcast(lhs: &Layout, rhs: &Layout) -> Result<[Layout; 2]> {
        let batch = batch_shape("matmul", lhs.shape(), rhs.shape())?;
        let over = |layout: &Layout| {
            let mut dims = batch.clone();
            dims.extend_from_slice(&layout.dims()[layout.dims().len() - 2..]);
            layout.broadcast_as(Shape::from(dims))
        };
        Ok([over(lhs)?, over(rhs)?])
    }
}

/// A product of bytes, `(lhs - lhs_zero_point) (rhs - rhs_zero_point)`, summed in i32 with
/// wrapping: ONNX's `MatMulInteger`. The operands are i8 or u8, each its own, and their shapes are
/// those of [`Matmul`]. A zero point is an input of the operand's dtype: one for all elements, of
/// shape `[]` or `[1]`, or one for each row of `lhs`, `[m]`, and each column of `rhs`, `[n]`. The
/// inputs are lhs, rhs, and then the zero points that there are.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage};
/// # use isobit_hal::{Layout, MatmulInteger, Op};
/// let (row, column) = (Layout::contiguous((1, 2)), Layout::contiguous((2, 1)));
/// let a = CpuDevice.storage_from_slice(&[130u8, 120])?;
/// let b = CpuDevice.storage_from_slice(&[3i8, -4])?;
/// let zero = CpuDevice.storage_from_slice(&[128u8])?;
/// let op = Op::MatmulInteger(MatmulInteger::new().with_zero_points(true, false));
/// let y = CpuStorage::apply(&op, &[(&a, &row), (&b, &column), (&zero, &Layout::contiguous(1))])?;
/// assert_eq!(y.to_vec::<i32>()?, [38]); // 2 * 3 + -8 * -4
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MatmulInteger {
    /// Whether there is an input with the zero point of lhs.
    pub has_lhs_zero_point: bool,
    /// Whether there is an input with the zero point of rhs, after that of lhs.
    pub has_rhs_zero_point: bool,
}

impl MatmulInteger {
    /// A product without zero points.
    pub const fn new() -> Self {
        Self { has_lhs_zero_point: false, has_rhs_zero_point: false }
    }

    /// Sets which operands have a zero point.
    pub const fn with_zero_points(mut self, lhs: bool, rhs: bool) -> Self {
        self.has_lhs_zero_point = lhs;
        self.has_rhs_zero_point = rhs;
        self
    }

    /// Returns which operand each input after the first two is the zero point of: 0 for lhs, 1 for
    /// rhs.
    pub fn zero_points(&self) -> impl Iterator<Item = usize> {
        let has = [self.has_lhs_zero_point, self.has_rhs_zero_point];
        (0..2).filter(move |&side| has[side])
    }

    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        2 + self.zero_points().count()
    }

    pub(super) fn name(&self) -> &'static str {
        match (self.has_lhs_zero_point, self.has_rhs_zero_point) {
            (false, false) => "matmul_integer",
            (true, false) => "matmul_integer_lhs_zero",
            (false, true) => "matmul_integer_rhs_zero",
            (true, true) => "matmul_integer_zeros",
        }
    }
}

/// A product of f8 matrices with scales, `(scale_lhs lhs) (scale_rhs rhs)`, into f16, bf16 or f32:
/// PyTorch's `torch._scaled_mm`. The operands are f8e4m3 or f8e5m2, each its own, and their shapes
/// are those of [`Matmul`]. The inputs are lhs, rhs, the scales of lhs and those of rhs, of f32.
///
/// A scale belongs to a block of its operand. Its shape says which: `[]` and `[1]` are one scale
/// for the tensor. Any other has the dimensions of a matrix at the end, and before them such of the
/// batch as broadcast to that of the result. Along m of `[.., m, k]` and n of `[.., k, n]` there is
/// one scale, one for each line, or one for each [`BLOCK`](Self::BLOCK) of lines; along k there is
/// one, or one for each block.
///
/// | scales | of lhs `[m, k]` | of rhs `[k, n]` |
/// |---|---|---|
/// | by tensor | `[]`, `[1]`, `[1, 1]` | `[]`, `[1]`, `[1, 1]` |
/// | by row and column | `[m, 1]` | `[1, n]` |
/// | by 128 of a row or column | `[m, k / 128]` | `[k / 128, n]` |
/// | by squares of 128 | `[m / 128, k / 128]` | `[k / 128, n / 128]` |
///
/// The last block of a dimension may be shorter. Both operands choose by themselves, and a scale
/// that repeats in memory has the same result as one that stands for the whole.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, F8E4M3};
/// # use isobit_hal::{Layout, ScaledMatmul};
/// let values = |v: [f32; 4]| CpuDevice.storage_from_slice(&v.map(F8E4M3::from_f32));
/// let (x, w) = (values([1.0, 2.0, 3.0, 4.0])?, values([1.0, 0.0, 0.5, 2.0])?);
/// let l = Layout::contiguous((2, 2));
/// let by_row = CpuDevice.storage_from_slice(&[2.0f32, 10.0])?;
/// let one = CpuDevice.storage_from_slice(&[0.5f32])?;
/// let scales = [(&by_row, &Layout::contiguous((2, 1))), (&one, &Layout::contiguous(1))];
/// let y = x.scaled_matmul(&l, &w, &l, scales, DType::F32, ScaledMatmul::default())?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0, 25.0, 40.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScaledMatmul {
    /// Vendor library or portable kernel; `None` takes the device's default.
    pub numerics: Option<Numerics>,
}

impl ScaledMatmul {
    /// The lines, and the elements of k, that may have a scale of their own: those of a segment.
    pub const BLOCK: usize = 128;

    /// Creates a product with the given numerics.
    pub const fn with_numerics(numerics: Numerics) -> Self {
        Self { numerics: Some(numerics) }
    }

    /// Returns the layout of an operand's scales over the batch dimensions of the result, with one
    /// scale of the tensor as a matrix of one.
    ///
    /// ```rust
    /// # use isobit_hal::{Layout, ScaledMatmul};
    /// let scales = ScaledMatmul::broadcast(&Layout::contiguous((4, 1)), &[3])?;
    /// assert_eq!((scales.dims(), scales.stride()), (&[3, 4, 1][..], &[0, 1, 1][..]));
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ShapeMismatch` if the dimensions before the last two do not broadcast to the batch.
    pub fn broadcast(scales: &Layout, batch: &[usize]) -> Result<Layout> {
        let matrix = scales.dims().iter().rev().take(2).copied();
        let mut dims: Vec<usize> =
            matrix.chain(std::iter::repeat_n(1, 2usize.saturating_sub(scales.dims().len()))).collect();
        dims.extend(batch.iter().rev());
        dims.reverse();
        scales.broadcast_as(Shape::from(dims))
    }
}
