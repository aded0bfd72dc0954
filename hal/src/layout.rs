//! Layouts: where the elements of a tensor lie in its buffer.

use crate::{Dims, Error, ErrorKind, Result, Shape};
use std::fmt;

/// A shape, a stride in elements for each dimension, and the offset of the first element. A stride
/// of 0 repeats (broadcasts) its dimension.
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
    /// A layout of given strides.
    ///
    /// # Errors
    /// `InvalidArgument` where there is not one stride a dimension.
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

    /// Row-major from the start of the buffer.
    pub fn contiguous(shape: impl Into<Shape>) -> Self {
        Self::contiguous_with_offset(shape, 0)
    }

    /// Row-major from an offset.
    pub fn contiguous_with_offset(shape: impl Into<Shape>, start_offset: usize) -> Self {
        let shape = shape.into();
        let stride = shape.stride_contiguous();
        Self { shape, stride, start_offset }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The strides in elements.
    pub fn stride(&self) -> &[usize] {
        &self.stride
    }

    /// The index of the first element in the buffer.
    pub fn start_offset(&self) -> usize {
        self.start_offset
    }

    /// The number of logical elements.
    pub fn elem_count(&self) -> usize {
        self.shape.elem_count()
    }

    /// True where the elements lie in row-major order with no gap. Dimensions of size 1 may have
    /// any stride.
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

    /// The first and one past the last element in the buffer, where the layout is contiguous.
    pub fn contiguous_offsets(&self) -> Option<(usize, usize)> {
        self.is_contiguous().then(|| (self.start_offset, self.start_offset.saturating_add(self.elem_count())))
    }

    /// How many elements the buffer must have for every index to lie inside; 0 for a layout with no
    /// elements. `None` where that does not fit a `usize`.
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

    /// True where no two logical elements share a place, by the test that each stride clears all
    /// the smaller ones. Sufficient, and exact for every layout made by slicing, stepping,
    /// transposing and broadcasting.
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
        Err(invalid(format!("{what}: dimension {dim} of a layout of rank {}", self.shape.rank())))
    }

    /// The layout of elements `start .. start + len` of a dimension.
    ///
    /// # Errors
    /// `InvalidArgument` where the range leaves the dimension.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        self.check_dim(dim, "narrow")?;
        let size = self.dims()[dim];
        if start.checked_add(len).is_none_or(|end| end > size) {
            return Err(invalid(format!("narrow: {len} elements from {start} of dimension {dim}, which has {size}")));
        }
        let mut dims: Dims = self.dims().into();
        dims[dim] = len;
        let offset = if len == 0 { 0 } else { start.saturating_mul(self.stride[dim]) };
        let start_offset = self.start_offset.saturating_add(offset);
        Ok(Self { shape: dims.into(), stride: self.stride.clone(), start_offset })
    }

    /// The layout of every `step`-th element of a dimension, from its first.
    ///
    /// # Errors
    /// `InvalidArgument` where the step is 0.
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

    /// The layout with two dimensions exchanged.
    ///
    /// # Errors
    /// `InvalidArgument` where there is no such dimension.
    pub fn transpose(&self, dim1: usize, dim2: usize) -> Result<Self> {
        self.check_dim(dim1, "transpose")?;
        self.check_dim(dim2, "transpose")?;
        let (mut dims, mut stride): (Dims, Dims) = (self.dims().into(), self.stride.clone());
        dims.swap(dim1, dim2);
        stride.swap(dim1, dim2);
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// The layout whose dimension `i` is dimension `order[i]` of this one.
    ///
    /// # Errors
    /// `InvalidArgument` where `order` is not a permutation of the dimensions.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let rank = self.shape.rank();
        if order.len() != rank || (0..rank).any(|d| !order.contains(&d)) {
            return Err(invalid(format!("permute: {order:?} is not a permutation of {rank} dimensions")));
        }
        let dims: Dims = order.iter().map(|&d| self.dims()[d]).collect();
        let stride = order.iter().map(|&d| self.stride[d]).collect();
        Ok(Self { shape: dims.into(), stride, start_offset: self.start_offset })
    }

    /// The layout broadcast to a shape by the rules of NumPy: dimensions are matched from the last,
    /// and one of size 1 repeats.
    ///
    /// # Errors
    /// `ShapeMismatch` where the shapes do not fit.
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

    /// The buffer index of every element, in logical row-major order.
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
    /// The merged dimensions, outermost first; none of size 1, and none at all where there is one
    /// element.
    pub dims: Dims,
    /// For each layout, a stride a dimension.
    pub strides: smallvec::SmallVec<[Dims; 4]>,
}

/// Merges the adjacent dimensions that every layout steps through as one (contiguous, broadcast and
/// transposed runs), and drops those of size 1. Offsets are untouched. The layouts must have one
/// shape; an empty shape gives one dimension of size 0.
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
            *dims.last_mut().expect("there is one to join") *= size;
            for (l, s) in layouts.iter().zip(&mut strides) {
                *s.last_mut().expect("one stride a dimension") = l.stride[d];
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
