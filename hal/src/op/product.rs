//! Products of bytes with zero points, and the batches over which every product broadcasts.

use super::Matmul;
use super::shapes::batch_shape;
use crate::{Layout, Result, Shape};

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
