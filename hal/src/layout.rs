//! Layouts: where the elements of a tensor lie in its buffer.

use crate::{Dims, Error, ErrorKind, Result, Shape};
use std::fmt;

/// A shape, a stride in elements for each dimension, and the offset of the first element. A stride of 0 repeats
/// (broadcasts) its dimension.
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

    /// True where the elements lie in row-major order with no gap. Dimensions of size 1 may have any stride.
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

    /// How many elements the buffer must have for every index to lie inside; 0 for a layout with no elements. `None` where
    /// that does not fit a `usize`.
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

    /// True where no two logical elements share a place, by the test that each stride clears all the smaller ones. Sufficient,
    /// and exact for every layout made by slicing, stepping, transposing and broadcasting.
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

    /// The layout broadcast to a shape by the rules of NumPy: dimensions are matched from the last, and one of size 1 repeats.
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

/// Several layouts of one shape with their common runs merged: the fewest dimensions that still address the same elements in
/// the same logical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collapsed {
    /// The merged dimensions, outermost first; none of size 1, and none at all where there is one element.
    pub dims: Dims,
    /// For each layout, a stride a dimension.
    pub strides: smallvec::SmallVec<[Dims; 4]>,
}

/// Merges the adjacent dimensions that every layout steps through as one (contiguous, broadcast and transposed runs), and drops
/// those of size 1. Offsets are untouched. The layouts must have one shape; an empty shape gives one dimension of size 0.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// The index of an element by the definition: offset + sum of index * stride.
    fn by_definition(layout: &Layout) -> Vec<usize> {
        let mut indices = vec![layout.start_offset];
        for (&d, &s) in layout.dims().iter().zip(&layout.stride) {
            indices = indices.iter().flat_map(|&i| (0..d).map(move |x| i + x * s)).collect();
        }
        indices
    }

    fn samples() -> Vec<Layout> {
        let base = Layout::contiguous_with_offset([3, 4, 5], 7);
        vec![
            Layout::contiguous(()),
            Layout::contiguous([0]),
            Layout::contiguous([2, 0, 3]),
            base.clone(),
            base.transpose(0, 2).unwrap(),
            base.permute(&[1, 2, 0]).unwrap(),
            base.narrow(1, 1, 2).unwrap(),
            base.step(2, 2).unwrap(),
            base.narrow(0, 1, 1).unwrap().broadcast_as([6, 4, 5]).unwrap(),
            Layout::contiguous([1]).broadcast_as([2, 3]).unwrap(),
            Layout::new([2, 1, 3], Dims::from_slice(&[3, 99, 1]), 0).unwrap(),
        ]
    }

    #[test]
    fn indices_are_those_of_the_definition() {
        for layout in samples() {
            let want = by_definition(&layout);
            let iterator = layout.strided_index();
            assert_eq!(iterator.len(), want.len());
            assert_eq!(iterator.collect::<Vec<_>>(), want, "{layout}");
            assert_eq!(layout.required_len(), Some(want.iter().max().map_or(0, |m| m + 1)), "{layout}");
            let consecutive = want.windows(2).all(|w| w[1] == w[0] + 1);
            assert_eq!(layout.is_contiguous(), consecutive, "{layout}");
            let ends = consecutive.then(|| (layout.start_offset, layout.start_offset + want.len()));
            assert_eq!(layout.contiguous_offsets(), ends, "{layout}");
            let mut unique = want.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(layout.is_injective(), unique.len() == want.len(), "{layout}");
        }
    }

    #[test]
    fn views_name_the_elements_they_say() {
        let base = Layout::contiguous([3, 4]);
        assert_eq!(by_definition(&base.transpose(0, 1).unwrap()), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
        assert_eq!(by_definition(&base.permute(&[1, 0]).unwrap()), by_definition(&base.transpose(0, 1).unwrap()));
        assert_eq!(by_definition(&base.narrow(1, 2, 2).unwrap()), [2, 3, 6, 7, 10, 11]);
        assert_eq!(by_definition(&base.step(1, 3).unwrap()), [0, 3, 4, 7, 8, 11]);
        assert_eq!(
            by_definition(&Layout::contiguous([2, 1]).broadcast_as([2, 2, 2]).unwrap()),
            [0, 0, 1, 1, 0, 0, 1, 1]
        );
        // Nothing is left of the dimension, so the offset need not move past the buffer.
        assert_eq!(base.narrow(0, 3, 0).unwrap().start_offset(), 0);
    }

    #[test]
    fn views_that_cannot_be_are_refused() {
        let base = Layout::contiguous([3, 4]);
        for (result, kind) in [
            (base.narrow(1, 3, 2), ErrorKind::InvalidArgument),
            (base.narrow(1, usize::MAX, 2), ErrorKind::InvalidArgument),
            (base.narrow(2, 0, 0), ErrorKind::InvalidArgument),
            (base.step(0, 0), ErrorKind::InvalidArgument),
            (base.transpose(0, 2), ErrorKind::InvalidArgument),
            (base.permute(&[0, 0]), ErrorKind::InvalidArgument),
            (base.permute(&[0]), ErrorKind::InvalidArgument),
            (base.broadcast_as([4]), ErrorKind::ShapeMismatch),
            (base.broadcast_as([3, 5]), ErrorKind::ShapeMismatch),
            (Layout::new([3, 4], Dims::from_slice(&[1]), 0), ErrorKind::InvalidArgument),
        ] {
            assert_eq!(result.unwrap_err().kind(), kind);
        }
    }

    #[test]
    fn huge_layouts_saturate_and_do_not_wrap() {
        let max = usize::MAX;
        assert_eq!(Layout::contiguous([max, max]).elem_count(), max);
        assert_eq!(Layout::new([2, 2], Dims::from_slice(&[max, max]), 0).unwrap().required_len(), None);
        assert_eq!(Layout::contiguous_with_offset([2], max).required_len(), None);
        assert_eq!(Layout::contiguous_with_offset([0], max).required_len(), Some(0));
    }

    #[test]
    fn collapsed_layouts_address_the_same_elements_in_the_same_order() {
        for a in samples() {
            for b in [Layout::contiguous(a.shape()), a.clone()] {
                let collapsed = collapse(&[&a, &b]);
                assert_eq!(collapsed.dims.iter().product::<usize>(), a.elem_count());
                for (layout, stride) in [&a, &b].into_iter().zip(&collapsed.strides) {
                    let merged = Layout::new(collapsed.dims.clone(), stride.clone(), layout.start_offset).unwrap();
                    assert_eq!(by_definition(&merged), by_definition(layout), "{a} with {b}");
                }
            }
        }
        let base = Layout::contiguous([2, 3, 4]);
        assert_eq!(collapse(&[&base]).dims.as_slice(), [24]);
        assert_eq!(
            collapse(&[&base, &base.narrow(0, 0, 1).unwrap().broadcast_as([2, 3, 4]).unwrap()]).dims.as_slice(),
            [2, 12]
        );
        assert!(collapse(&[&Layout::contiguous([1, 1])]).dims.is_empty());
    }
}
