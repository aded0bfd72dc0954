//! Layouts: the mapping from the elements of a tensor to its buffer.

use crate::{Dims, Error, ErrorKind, Result, Shape};
use std::fmt;

/// A shape, a stride in elements for each dimension, and the offset of the first element. A stride
/// of 0 repeats (broadcasts) its dimension.
///
/// ```rust
/// use isobit_hal::Layout;
///
/// let layout = Layout::contiguous((2, 3));
/// assert_eq!((layout.dims(), layout.stride()), (&[2, 3][..], &[3, 1][..]));
/// let transposed = layout.transpose(0, 1)?;
/// assert_eq!((transposed.dims(), transposed.stride()), (&[3, 2][..], &[1, 3][..]));
/// assert_eq!(transposed.strided_index().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
/// let last_column = layout.narrow(1, 2, 1)?;
/// assert_eq!((last_column.start_offset(), last_column.is_contiguous()), (2, false));
/// let repeated = Layout::contiguous(3).broadcast_as((2, 3))?;
/// assert_eq!(repeated.stride(), [0, 1]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    stride: Dims,
    start_offset: usize,
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

impl Layout {
    /// Creates a layout with the given strides.
    ///
    /// # Errors
    /// `InvalidArgument` unless there is one stride per dimension.
    pub fn new(shape: impl Into<Shape>, stride: impl Into<Dims>, start_offset: usize) -> Result<Self> {
        let (shape, stride) = (shape.into(), stride.into());
        if shape.rank() != stride.len() {
            return Err(invalid(format!(
                "a layout of shape {shape} needs {} strides, not {}",
                shape.rank(),
                stride.len()
            )));
        }
        Ok(Self { shape, stride, start_offset })
    }

    /// Creates a row-major layout at the start of the buffer.
    pub fn contiguous(shape: impl Into<Shape>) -> Self {
        Self::contiguous_with_offset(shape, 0)
    }

    /// Creates a row-major layout at an offset.
    pub fn contiguous_with_offset(shape: impl Into<Shape>, start_offset: usize) -> Self {
        let shape = shape.into();
        let stride = shape.stride_contiguous();
        Self { shape, stride, start_offset }
    }

    /// Returns the shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the dimensions.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// Returns the strides in elements.
    pub fn stride(&self) -> &[usize] {
        &self.stride
    }

    /// Returns the buffer index of the first element.
    pub fn start_offset(&self) -> usize {
        self.start_offset
    }

    /// Returns the number of logical elements.
    pub fn elem_count(&self) -> usize {
        self.shape.elem_count()
    }

    /// Whether the elements are in row-major order without gaps. Dimensions of size 1 may have any
    /// stride.
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1usize;
        for (&d, &s) in self.dims().iter().zip(&self.stride).rev() {
            if d == 0 {
                return true;
            }
            if d != 1 {
                if s != step {
                    return false;
                }
                step = step.saturating_mul(d);
            }
        }
        true
    }

    /// Returns the buffer index of the first element and one past the last, or `None` if the layout
    /// is not contiguous.
    pub fn contiguous_offsets(&self) -> Option<(usize, usize)> {
        self.is_contiguous().then(|| (self.start_offset, self.start_offset.saturating_add(self.elem_count())))
    }

    /// Returns the minimum buffer length for which every index is in bounds; 0 for a layout without
    /// elements. `None` if the length does not fit a `usize`.
    pub fn required_len(&self) -> Option<usize> {
        if self.elem_count() == 0 {
            return Some(0);
        }
        let mut last = self.start_offset;
        for (&d, &s) in self.dims().iter().zip(&self.stride) {
            last = last.checked_add((d - 1).checked_mul(s)?)?;
        }
        last.checked_add(1)
    }

    /// Whether no two logical elements share a buffer index. The test is that each stride exceeds
    /// the reach of all smaller strides. It is sufficient, and it is exact for every layout made by
    /// slicing, stepping, transposing and broadcasting.
    pub fn is_injective(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        let mut dims: smallvec::SmallVec<[(usize, usize); 6]> =
            self.stride.iter().copied().zip(self.dims().iter().copied()).filter(|&(_, d)| d > 1).collect();
        dims.sort_unstable();
        let mut reach = 0usize;
        for (s, d) in dims {
            if s <= reach {
                return false;
            }
            reach = reach.saturating_add(s.saturating_mul(d - 1));
        }
        true
    }

    fn check_dim(&self, dim: usize, what: &str) -> Result<()> {
        if dim < self.shape.rank() {
            return Ok(());
        }
        Err(invalid(format!("{what}: dimension {dim} is out of range for a layout of rank {}", self.shape.rank())))
    }

    /// Selects elements `start..start + len` of a dimension.
    ///
    /// # Errors
    /// `InvalidArgument` if the dimension does not exist or the range exceeds it.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        self.check_dim(dim, "narrow")?;
        let size = self.dims()[dim];
        if start.checked_add(len).is_none_or(|end| end > size) {
            return Err(invalid(format!(
                "narrow: {len} elements from {start} exceed dimension {dim}, which has size {size}"
            )));
        }
        let mut dims: Dims = self.dims().into();
        dims[dim] = len;
        let offset = if len == 0 { 0 } else { start.saturating_mul(self.stride[dim]) };
        let start_offset = self.start_offset.saturating_add(offset);
        Ok(Self { shape: dims.into(), stride: self.stride.clone(), start_offset })
    }

    /// Selects every `step`-th element of a dimension, starting with the first.
    ///
    /// # Errors
    /// `InvalidArgument` if the dimension does not exist or the step is 0.
    pub fn step(&self, dim: usize, step: usize) -> Result<Self> {
        self.check_dim(dim, "step")?;
        if step == 0 {
            return Err(invalid("step: the step must be at least 1".into()));
        }
        let (mut dims, mut stride): (Dims, Dims) = (self.dims().into(), self.stride.clone());
        dims[dim] = dims[dim].div_ceil(step);
        stride[dim] = stride[dim].saturating_mul(step);
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// Swaps two dimensions.
    ///
    /// # Errors
    /// `InvalidArgument` if a dimension does not exist.
    pub fn transpose(&self, dim1: usize, dim2: usize) -> Result<Self> {
        self.check_dim(dim1, "transpose")?;
        self.check_dim(dim2, "transpose")?;
        let (mut dims, mut stride): (Dims, Dims) = (self.dims().into(), self.stride.clone());
        dims.swap(dim1, dim2);
        stride.swap(dim1, dim2);
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// Reorders the dimensions: dimension `i` of the result is dimension `order[i]` of this layout.
    ///
    /// # Errors
    /// `InvalidArgument` if `order` is not a permutation of the dimensions.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let rank = self.shape.rank();
        if order.len() != rank || (0..rank).any(|d| !order.contains(&d)) {
            return Err(invalid(format!("permute: {order:?} is not a permutation of {rank} dimensions")));
        }
        let dims: Dims = order.iter().map(|&d| self.dims()[d]).collect();
        let stride = order.iter().map(|&d| self.stride[d]).collect();
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// Broadcasts the layout to a shape by NumPy's rules: dimensions are matched starting with the
    /// last, and a dimension of size 1 repeats.
    ///
    /// # Errors
    /// `ShapeMismatch` if the layout's shape does not broadcast to `shape`.
    pub fn broadcast_as(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        let missing = shape.rank().checked_sub(self.shape.rank());
        let fits = missing.is_some_and(|m| self.dims().iter().zip(&shape.dims()[m..]).all(|(&a, &b)| a == b || a == 1));
        let (Some(missing), true) = (missing, fits) else {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!("broadcast_as: shape {} does not broadcast to {shape}", self.shape),
            ));
        };
        let mut stride: Dims = smallvec::SmallVec::from_elem(0, missing);
        let kept = self.dims().iter().zip(&self.stride).zip(&shape.dims()[missing..]);
        stride.extend(kept.map(|((&a, &s), &b)| if a == b { s } else { 0 }));
        Ok(Self { shape, stride, start_offset: self.start_offset })
    }

    /// Gives the elements, in row-major order, another shape, without moving them: NumPy's
    /// `reshape` without a copy, PyTorch's `view`. Any layout without elements has such a view.
    /// Dimensions of size 1 may have any stride.
    ///
    /// ```rust
    /// use isobit_hal::Layout;
    ///
    /// let layout = Layout::contiguous((4, 6));
    /// let split = layout.reshape((2, 2, 6))?;
    /// assert_eq!((split.dims(), split.stride()), (&[2, 2, 6][..], &[12, 6, 1][..]));
    /// // Half of each row: rows can still be divided, but not be joined.
    /// let half = layout.narrow(1, 0, 3)?;
    /// assert_eq!(half.reshape((2, 2, 3))?.stride(), [12, 6, 1]);
    /// assert!(half.reshape(12).is_err());
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ShapeMismatch` if the shapes have different numbers of elements; `InvalidArgument` if no
    /// strides reach the elements in this order, so that they must be
    /// [copied](crate::BackendStorage::try_clone) first.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        let (from, to) = (self.elem_count(), shape.elem_count());
        // A count that does not fit a usize saturates, and then says nothing.
        if from != to || from == usize::MAX {
            return Err(Error::new(
                ErrorKind::ShapeMismatch,
                format!("reshape: {} has {from} elements, and {shape} has {to}; both must have as many", self.shape),
            ));
        }
        let mut stride = shape.stride_contiguous();
        if from > 0 {
            let merged = collapse(&[self]);
            // Each merged dimension must be divided among dimensions of the shape, from the last
            // one on. Those of size 1 that are left at the front keep their strides.
            let mut left = shape.rank();
            for (&size, &step) in merged.dims.iter().zip(&merged.strides[0]).rev() {
                let mut covered = 1usize;
                while covered < size {
                    // The elements are as many, so that the dimensions do not run out.
                    left -= 1;
                    stride[left] = step.saturating_mul(covered);
                    covered = covered.saturating_mul(shape.dims()[left]);
                }
                if covered != size {
                    return Err(invalid(format!(
                        "reshape: no strides reach the elements of {self} as {shape}: copy them to a contiguous layout first"
                    )));
                }
            }
        }
        Ok(Self { shape, stride, start_offset: self.start_offset })
    }

    /// Removes a dimension of size 1.
    ///
    /// ```rust
    /// use isobit_hal::Layout;
    ///
    /// let layout = Layout::contiguous((2, 1, 3));
    /// assert_eq!(layout.squeeze(1)?.dims(), [2, 3]);
    /// assert!(layout.squeeze(0).is_err(), "it has size 2");
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the dimension does not exist or has another size.
    pub fn squeeze(&self, dim: usize) -> Result<Self> {
        self.check_dim(dim, "squeeze")?;
        let size = self.dims()[dim];
        if size != 1 {
            return Err(invalid(format!("squeeze: dimension {dim} has size {size}; only size 1 can be removed")));
        }
        let (mut dims, mut stride): (Dims, Dims) = (self.dims().into(), self.stride.clone());
        dims.remove(dim);
        stride.remove(dim);
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// Adds a dimension of size 1 before dimension `dim`, or at the end if `dim` is the rank.
    ///
    /// ```rust
    /// use isobit_hal::Layout;
    ///
    /// let layout = Layout::contiguous((2, 3));
    /// assert_eq!(layout.unsqueeze(0)?.dims(), [1, 2, 3]);
    /// assert_eq!(layout.unsqueeze(2)?.dims(), [2, 3, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if `dim` exceeds the rank.
    pub fn unsqueeze(&self, dim: usize) -> Result<Self> {
        let rank = self.shape.rank();
        if dim > rank {
            return Err(invalid(format!("unsqueeze: dimension {dim} is out of range for a layout of rank {rank}")));
        }
        let (mut dims, mut stride): (Dims, Dims) = (self.dims().into(), self.stride.clone());
        // The stride that a larger dimension of a contiguous layout would have here, as in PyTorch.
        stride.insert(dim, self.dims().get(dim).map_or(1, |&d| d.saturating_mul(self.stride[dim])));
        dims.insert(dim, 1);
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// Merges the dimensions from `first` to `last`, both included, into one, as `torch.flatten`
    /// without a copy.
    ///
    /// ```rust
    /// use isobit_hal::Layout;
    ///
    /// assert_eq!(Layout::contiguous((2, 3, 4)).flatten(1, 2)?.dims(), [2, 12]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if a dimension does not exist or `first` exceeds `last`, or if the
    /// elements must be copied first.
    pub fn flatten(&self, first: usize, last: usize) -> Result<Self> {
        self.check_dim(last, "flatten")?;
        if first > last {
            return Err(invalid(format!("flatten: the first dimension {first} comes after the last, {last}")));
        }
        let merged = self.dims()[first..=last].iter().fold(1usize, |n, &d| n.saturating_mul(d));
        let mut dims: Dims = self.dims()[..first].into();
        dims.push(merged);
        dims.extend_from_slice(&self.dims()[last + 1..]);
        self.reshape(dims)
    }

    /// Returns the buffer index of every element, in logical row-major order.
    pub fn strided_index(&self) -> StridedIndex<'_> {
        StridedIndex::new(self)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} strides {:?} offset {}", self.dims(), self.stride.as_slice(), self.start_offset)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Iterator over buffer indices in logical row-major order.
#[derive(Debug, Clone)]
pub struct StridedIndex<'a> {
    layout: &'a Layout,
    index: Dims,
    offset: usize,
    left: usize,
}

impl<'a> StridedIndex<'a> {
    fn new(layout: &'a Layout) -> Self {
        let index = smallvec::SmallVec::from_elem(0, layout.shape.rank());
        Self { layout, index, offset: layout.start_offset, left: layout.elem_count() }
    }
}

impl Iterator for StridedIndex<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.offset;
        for (i, (&d, &s)) in self.index.iter_mut().zip(self.layout.dims().iter().zip(&self.layout.stride)).rev() {
            *i += 1;
            self.offset = self.offset.wrapping_add(s);
            if *i < d {
                break;
            }
            self.offset = self.offset.wrapping_sub(s.wrapping_mul(d));
            *i = 0;
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for StridedIndex<'_> {}

/// Several layouts of one shape with their common runs merged: the fewest dimensions that still
/// address the same elements in the same logical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collapsed {
    /// The merged dimensions, outermost first. None of them has size 1; there are none if the shape
    /// has a single element.
    pub dims: Dims,
    /// For each layout, one stride per dimension.
    pub strides: smallvec::SmallVec<[Dims; 4]>,
}

/// Merges adjacent dimensions that every layout traverses as one (contiguous, broadcast and
/// transposed runs), and drops dimensions of size 1. Offsets do not matter. The layouts must have
/// the same shape; an empty shape gives one dimension of size 0.
///
/// ```rust
/// use isobit_hal::{Layout, collapse};
///
/// let x = Layout::contiguous((2, 3, 4));
/// let y = Layout::contiguous((2, 1, 1)).broadcast_as((2, 3, 4))?;
/// let merged = collapse(&[&x, &y]);
/// assert_eq!(merged.dims.as_slice(), [2, 12]);
/// assert_eq!(merged.strides[0].as_slice(), [12, 1]);
/// assert_eq!(merged.strides[1].as_slice(), [1, 0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub fn collapse(layouts: &[&Layout]) -> Collapsed {
    let shape = layouts[0].dims();
    let mut dims = Dims::new();
    let mut strides: smallvec::SmallVec<[Dims; 4]> = smallvec::smallvec![Dims::new(); layouts.len()];
    if shape.contains(&0) {
        dims.push(0);
        strides.iter_mut().for_each(|s| s.push(0));
        return Collapsed { dims, strides };
    }
    for (d, &size) in shape.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let joins = dims.last().is_some()
            && layouts.iter().zip(&strides).all(|(l, s)| s.last() == Some(&l.stride[d].saturating_mul(size)));
        if joins {
            *dims.last_mut().expect("there is a dimension to merge into") *= size;
            for (l, s) in layouts.iter().zip(&mut strides) {
                *s.last_mut().expect("one stride per dimension") = l.stride[d];
            }
        } else {
            dims.push(size);
            for (l, s) in layouts.iter().zip(&mut strides) {
                s.push(l.stride[d]);
            }
        }
    }
    Collapsed { dims, strides }
}
