//! Parameters of operations that move elements by a map of their indices: flips, rolls, padding,
//! repetition and concatenation.

use crate::{Dims, Scalar, SignedDims};
use std::ops::Range;

/// Reverses the order of the elements along dimensions, as `torch.flip`.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Flip, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?;
/// let op = Op::Flip(Flip::new(&[1]));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous((2, 3)))])?;
/// assert_eq!(y.to_vec::<u8>()?, [3, 2, 1, 6, 5, 4]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flip {
    /// The dimensions to reverse, each at most once, in any order. If empty, the elements are
    /// copied.
    pub dims: Dims,
}

impl Flip {
    /// Creates a flip of the given dimensions.
    pub fn new(dims: &[usize]) -> Self {
        Self { dims: dims.into() }
    }
}

/// Moves the elements along dimensions; what leaves one end enters at the other, as `torch.roll`:
/// element `i` of a dimension of size `n` comes from `(i - shift) mod n`.
///
/// To roll a tensor as if it had one dimension, reshape its layout first.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Roll};
/// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4])?;
/// let op = Op::Roll(Roll::new(&[1], &[0]));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous(4))])?;
/// assert_eq!(y.to_vec::<u8>()?, [4, 1, 2, 3]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Roll {
    /// How far the elements move toward the end of each of [`dims`](Self::dims); negative shifts
    /// move them toward the start. Any number, also beyond the size.
    pub shifts: SignedDims,
    /// The dimensions, in any order. One that is named twice is rolled twice.
    pub dims: Dims,
}

impl Roll {
    /// Creates a roll by one shift for each dimension.
    pub fn new(shifts: &[isize], dims: &[usize]) -> Self {
        Self { shifts: shifts.into(), dims: dims.into() }
    }
}

/// The elements that a [`Pad`] adds.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, PadMode, Scalar};
/// let (x, l) = (CpuDevice.storage_from_slice(&[1u8, 2, 3])?, Layout::contiguous(3));
/// let pad = |mode| x.pad(&l, &[2], &[1], mode)?.to_vec::<u8>();
/// assert_eq!(pad(PadMode::Constant(Scalar::U8(9)))?, [9, 9, 1, 2, 3, 9]);
/// assert_eq!(pad(PadMode::Reflect)?, [3, 2, 1, 2, 3, 2]);
/// assert_eq!(pad(PadMode::Replicate)?, [1, 1, 1, 2, 3, 3]);
/// assert_eq!(pad(PadMode::Circular)?, [2, 3, 1, 2, 3, 1]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PadMode {
    /// One value, which must have the dtype of the elements.
    Constant(Scalar),
    /// The tensor in reverse order, without its first or last element (ONNX's and NumPy's
    /// `reflect`). Each amount must be less than the size.
    Reflect,
    /// The first or the last element again and again (ONNX's and NumPy's `edge`). The dimension
    /// must not be empty.
    Replicate,
    /// The tensor once more (ONNX's and NumPy's `wrap`). Each amount must be at most the size.
    Circular,
}

/// Adds elements at both ends of dimensions, or removes some, as `torch.nn.functional.pad` and ONNX
/// `Pad` do.
///
/// Negative amounts crop. Cropping comes first: the other amounts and the conditions of a
/// [`PadMode`] refer to what it keeps. The amounts are in the order of the dimensions; PyTorch's
/// function takes pairs in reverse order of the dimensions instead.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Pad};
/// # use isobit_hal::{PadMode, Scalar};
/// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4, 5, 6])?;
/// // A row of zeros above, and no first column.
/// let op = Op::Pad(Pad::new(&[1, -1], &[0, 0], PadMode::Constant(Scalar::I32(0))));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous((2, 3)))])?;
/// assert_eq!(y.to_vec::<i32>()?, [0, 0, 2, 3, 5, 6]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pad {
    /// How many elements are added before the first of each dimension; negative amounts crop.
    pub before: SignedDims,
    /// How many elements are added after the last of each dimension; negative amounts crop.
    pub after: SignedDims,
    /// What is added.
    pub mode: PadMode,
}

impl Pad {
    /// Creates a padding with one amount before and one after each dimension.
    pub fn new(before: &[isize], after: &[isize], mode: PadMode) -> Self {
        Self { before: before.into(), after: after.into(), mode }
    }

    /// Returns the elements of dimension `dim`, which has `size`, that cropping keeps; `None` if it
    /// would remove more than there are, or if the padding has no amounts for the dimension.
    ///
    /// ```rust
    /// # use isobit_hal::{Pad, PadMode};
    /// let pad = Pad::new(&[-1, 2], &[-2, 2], PadMode::Reflect);
    /// assert_eq!((pad.kept(0, 5), pad.kept(1, 5)), (Some(1..3), Some(0..5)));
    /// assert_eq!(pad.kept(0, 2), None);
    /// ```
    pub fn kept(&self, dim: usize, size: usize) -> Option<Range<usize>> {
        let cropped = |amount: isize| if amount < 0 { amount.unsigned_abs() } else { 0 };
        let end = size.checked_sub(cropped(*self.after.get(dim)?))?;
        let start = cropped(*self.before.get(dim)?);
        (start <= end).then_some(start..end)
    }
}

/// Repeats the whole tensor along dimensions, as `torch.Tensor.repeat` and `numpy.tile`: element
/// `i` of a dimension of size `n` comes from `i mod n`.
///
/// A [broadcast layout](crate::Layout::broadcast_as) repeats a dimension of size 1 without a copy.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op, Repeat};
/// let x = CpuDevice.storage_from_slice(&[1u8, 2])?;
/// let op = Op::Repeat(Repeat::new(&[2, 2]));
/// let y = CpuStorage::apply(&op, &[(&x, &Layout::contiguous(2))])?; // of shape [2, 4]
/// assert_eq!(y.to_vec::<u8>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repeat {
    /// How often each dimension is repeated; 0 gives an empty dimension. If there are more numbers
    /// than dimensions, dimensions of size 1 are put before the tensor's own.
    pub repeats: Dims,
}

impl Repeat {
    /// Creates a repetition.
    pub fn new(repeats: &[usize]) -> Self {
        Self { repeats: repeats.into() }
    }
}

/// Joins tensors along a dimension, one after the other, as `torch.cat`. Their other dimensions
/// must be equal. A tensor may have no elements along the dimension.
///
/// ```rust
/// # use isobit_hal::{BackendDevice, BackendStorage, Concat, CpuDevice, CpuStorage, Layout, Op};
/// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4])?;
/// let y = CpuDevice.storage_from_slice(&[5u8, 6])?;
/// let (matrix, column) = (Layout::contiguous((2, 2)), Layout::contiguous((2, 1)));
/// let op = Op::Concat(Concat::new(1, 2));
/// let joined = CpuStorage::apply(&op, &[(&x, &matrix), (&y, &column)])?;
/// assert_eq!(joined.to_vec::<u8>()?, [1, 2, 5, 3, 4, 6]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Concat {
    /// The dimension along which the tensors follow each other.
    pub dim: usize,
    /// The number of tensors; at least 1.
    pub inputs: usize,
}

impl Concat {
    /// Creates a concatenation of `inputs` tensors along a dimension.
    pub const fn new(dim: usize, inputs: usize) -> Self {
        Self { dim, inputs }
    }
}
