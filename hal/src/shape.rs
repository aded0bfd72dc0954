//! Shapes: how many elements along each dimension.

use smallvec::SmallVec;
use std::fmt;

/// Dimensions or strides; up to six are kept without an allocation.
pub type Dims = SmallVec<[usize; 6]>;

/// The sizes of a tensor's dimensions, outermost first. Rank 0 is one element.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Dims);

impl Shape {
    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// How many dimensions there are.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements: the product of the dimensions, 1 for rank 0. Saturates at
    /// `usize::MAX`, which no device can hold, so that an absurd shape fails as an allocation
    /// rather than wrapping.
    pub fn elem_count(&self) -> usize {
        if self.0.contains(&0) {
            return 0;
        }
        self.0.iter().fold(1, |n, &d| n.saturating_mul(d))
    }

    /// Row-major strides in elements; saturating like [`elem_count`](Self::elem_count).
    pub fn stride_contiguous(&self) -> Dims {
        let mut stride: Dims = SmallVec::from_elem(0, self.rank());
        let mut step = 1usize;
        for (s, &d) in stride.iter_mut().zip(&self.0).rev() {
            *s = step;
            step = step.saturating_mul(d);
        }
        stride
    }

    /// The shape with the given dimensions set to 1, as a reduction over them leaves it.
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
