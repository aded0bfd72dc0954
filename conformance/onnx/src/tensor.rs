//! A tensor on a device. Views share the storage.

use crate::element::{Element, Kind};
use crate::stop::{Lowered, Stop};
use isobit::{AnyStorage, BackendStorage, DType, Layout};
use std::sync::Arc;

/// Elements on a device, seen through a layout.
#[derive(Debug, Clone)]
pub struct Tensor {
    storage: Arc<AnyStorage>,
    layout: Layout,
    kind: Kind,
}

impl Tensor {
    /// Wraps a storage of contiguous elements.
    pub fn new(storage: AnyStorage, shape: &[usize]) -> Self {
        Self { storage: Arc::new(storage), layout: Layout::contiguous(shape), kind: Kind::Number }
    }

    /// Returns the tensor with its elements taken as booleans, or as numbers.
    pub fn as_bool(self, is_bool: bool) -> Self {
        self.of(if is_bool { Kind::Bool } else { Kind::Number })
    }

    /// Returns the tensor with another meaning of its elements.
    pub fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns the storage.
    pub fn storage(&self) -> &AnyStorage {
        &self.storage
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the shape.
    pub fn dims(&self) -> &[usize] {
        self.layout.dims()
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims().len()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.layout.elem_count()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// Returns the element type.
    pub fn element(&self) -> Element {
        Element { dtype: self.dtype(), kind: self.kind }
    }

    /// Returns another view of the storage.
    pub fn view(&self, layout: Layout) -> Self {
        Self { storage: Arc::clone(&self.storage), layout, kind: self.kind }
    }

    /// Reorders the dimensions.
    ///
    /// # Errors
    /// Fails if `order` is no permutation.
    pub fn permute(&self, order: &[usize]) -> Lowered<Self> {
        Ok(self.view(self.layout.permute(order)?))
    }

    /// Swaps two dimensions.
    ///
    /// # Errors
    /// Fails if there is no such dimension.
    pub fn transpose(&self, a: usize, b: usize) -> Lowered<Self> {
        Ok(self.view(self.layout.transpose(a, b)?))
    }

    /// Selects a range of a dimension.
    ///
    /// # Errors
    /// Fails if it exceeds the dimension.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Lowered<Self> {
        Ok(self.view(self.layout.narrow(dim, start, len)?))
    }

    /// Selects every `step`-th element of a dimension.
    ///
    /// # Errors
    /// Fails if there is no such dimension.
    pub fn step(&self, dim: usize, step: usize) -> Lowered<Self> {
        Ok(self.view(self.layout.step(dim, step)?))
    }

    /// Repeats dimensions of size 1, by NumPy's rules.
    ///
    /// # Errors
    /// Fails if the shapes do not fit.
    pub fn broadcast(&self, shape: &[usize]) -> Lowered<Self> {
        Ok(self.view(self.layout.broadcast_as(shape)?))
    }

    /// Inserts a dimension of size 1.
    ///
    /// # Errors
    /// Fails if the position is beyond the rank.
    pub fn unsqueeze(&self, at: usize) -> Lowered<Self> {
        if at > self.rank() {
            return Err(Stop::Failed(format!("a dimension {at} does not fit into the shape {:?}", self.dims())));
        }
        let (mut dims, mut stride) = (self.dims().to_vec(), self.layout.stride().to_vec());
        dims.insert(at, 1);
        stride.insert(at, 0);
        let stride = isobit::Dims::from_vec(stride);
        Ok(self.view(Layout::new(dims, stride, self.layout.start_offset())?))
    }

    /// Removes a dimension of size 1.
    ///
    /// # Errors
    /// Fails if its size is another.
    pub fn squeeze(&self, at: usize) -> Lowered<Self> {
        if self.dims().get(at) != Some(&1) {
            return Err(Stop::Failed(format!("dimension {at} of the shape {:?} has no size of 1", self.dims())));
        }
        let (mut dims, mut stride) = (self.dims().to_vec(), self.layout.stride().to_vec());
        dims.remove(at);
        stride.remove(at);
        let stride = isobit::Dims::from_vec(stride);
        Ok(self.view(Layout::new(dims, stride, self.layout.start_offset())?))
    }
}

/// Returns the shape to which the shapes broadcast by NumPy's rules.
///
/// # Errors
/// Fails if they do not fit together.
pub fn broadcast_shape(shapes: &[&[usize]]) -> Lowered<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut joined = vec![1; rank];
    for shape in shapes {
        let missing = rank - shape.len();
        for (to, &size) in joined[missing..].iter_mut().zip(*shape) {
            if *to == 1 {
                *to = size;
            } else if size != 1 && size != *to {
                return Err(Stop::Failed(format!("the shapes {shapes:?} do not broadcast to one")));
            }
        }
    }
    Ok(joined)
}

/// Returns the position of an axis that may count from the end.
///
/// # Errors
/// Fails if there is no such axis.
pub fn axis_of(axis: i64, rank: usize) -> Lowered<usize> {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    let known = usize::try_from(at).ok().filter(|&at| at < rank);
    known.ok_or_else(|| Stop::Failed(format!("there is no axis {axis} in a tensor of rank {rank}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        // numpy.broadcast_shapes
        assert_eq!(broadcast_shape(&[&[3, 1], &[2, 1, 4]]).unwrap(), [2, 3, 4]);
        assert_eq!(broadcast_shape(&[&[], &[5]]).unwrap(), [5]);
        assert_eq!(broadcast_shape(&[&[0, 3], &[1, 3]]).unwrap(), [0, 3]);
        assert_eq!(broadcast_shape(&[]).unwrap(), [0usize; 0]);
        assert!(broadcast_shape(&[&[2], &[3]]).is_err());
    }

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!((axis_of(-1, 3).unwrap(), axis_of(0, 3).unwrap()), (2, 0));
        assert!(axis_of(3, 3).is_err() && axis_of(-4, 3).is_err() && axis_of(0, 0).is_err());
    }
}
