//! Shapes: the number of elements along each dimension.

use smallvec::SmallVec;
use std::fmt;

/// Dimensions or strides; up to six are stored without an allocation.
pub type Dims = SmallVec<[usize; 6]>;

/// Amounts that may be negative, such as those of a [`Pad`](crate::Pad); up to six are stored
/// without an allocation.
pub type SignedDims = SmallVec<[isize; 6]>;

/// The sizes of a tensor's dimensions, outermost first. A shape of rank 0 has one element.
///
/// ```rust
/// use isobit_hal::Shape;
///
/// let shape = Shape::from((2, 3, 4));
/// assert_eq!((shape.rank(), shape.elem_count()), (3, 24));
/// assert_eq!(shape.stride_contiguous().as_slice(), [12, 4, 1]);
/// assert_eq!(shape.reduced(&[1]), Shape::from([2, 1, 4]));
/// assert_eq!(Shape::from(()).elem_count(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Dims);

impl Shape {
    /// Returns the dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of elements: the product of the dimensions, or 1 for rank 0. Saturates at
    /// `usize::MAX`, which no device can hold, so an absurd shape fails at allocation instead of
    /// wrapping.
    pub fn elem_count(&self) -> usize {
        if self.0.contains(&0) {
            return 0;
        }
        self.0.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Returns the row-major strides in elements; they saturate like
    /// [`elem_count`](Self::elem_count).
    pub fn stride_contiguous(&self) -> Dims {
        let mut stride: Dims = SmallVec::from_elem(0, self.rank());
        let mut step = 1usize;
        for (s, &d) in stride.iter_mut().zip(&self.0).rev() {
            *s = step;
            step = step.saturating_mul(d);
        }
        stride
    }

    /// Returns the shape with the given dimensions set to 1, which is the shape of a reduction over
    /// them.
    pub fn reduced(&self, dims: &[usize]) -> Shape {
        Shape(self.0.iter().enumerate().map(|(i, &d)| if dims.contains(&i) { 1 } else { d }).collect())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Shape(dims.into())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Shape(dims.into())
    }
}

impl From<Dims> for Shape {
    fn from(dims: Dims) -> Self {
        Shape(dims)
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Shape(dims.as_slice().into())
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        Shape::default()
    }
}

impl From<usize> for Shape {
    fn from(dim: usize) -> Self {
        [dim].into()
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}

macro_rules! from_tuple {
    ($($t:ty => [$($i:tt)*])*) => {$(
        impl From<$t> for Shape {
            fn from(dims: $t) -> Self {
                [$(dims.$i),*].into()
            }
        }
    )*};
}
from_tuple! {
    (usize,) => [0]
    (usize, usize) => [0 1]
    (usize, usize, usize) => [0 1 2]
    (usize, usize, usize, usize) => [0 1 2 3]
    (usize, usize, usize, usize, usize) => [0 1 2 3 4]
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}
