//! Moving elements: reshaping, joining, padding, repeating, selecting.

use super::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{Concat, Flip, Indexing, Layout, Op, Pad, PadMode, Scalar, Shape};

impl Ops {
    /// Gives the elements another shape, and copies them first if they are not contiguous.
    ///
    /// # Errors
    /// Fails if the shape has another number of elements.
    pub fn reshape(&self, x: &Tensor, shape: &[usize]) -> Lowered<Tensor> {
        if Shape::from(shape).elem_count() != x.len() {
            return Err(Stop::Failed(format!("the shape {:?} does not become {shape:?}", x.dims())));
        }
        let x = if x.layout().is_contiguous() { x.clone() } else { self.contiguous(x)? };
        Ok(x.view(Layout::contiguous_with_offset(shape, x.layout().start_offset())))
    }

    /// Joins tensors along an axis.
    ///
    /// # Errors
    /// Fails if the other dimensions or the dtypes differ.
    pub fn concat(&self, parts: &[&Tensor], axis: usize) -> Lowered<Tensor> {
        let first = parts.first().ok_or_else(|| Stop::Failed("there is nothing to join".into()))?;
        let joined = self.apply(&Op::Concat(Concat::new(axis, parts.len())), parts)?;
        Ok(joined.of(first.element().kind))
    }

    /// Adds elements of one value before and after each dimension.
    ///
    /// # Errors
    /// The driver's.
    pub fn pad(&self, x: &Tensor, before: &[usize], after: &[usize], value: f64) -> Lowered<Tensor> {
        let amounts = |ns: &[usize]| ns.iter().map(|&n| n as isize).collect::<Vec<_>>();
        let mode = PadMode::Constant(Scalar::from_f64(x.dtype(), value));
        let op = Op::Pad(Pad::new(&amounts(before), &amounts(after), mode));
        Ok(self.apply(&op, &[x])?.of(x.element().kind))
    }

    /// Selects positions of an axis.
    ///
    /// # Errors
    /// The operation's.
    pub fn pick(&self, x: &Tensor, axis: usize, positions: &[usize]) -> Lowered<Tensor> {
        let ids = self.ids(&[positions.len()], positions)?;
        Ok(self.apply(&Op::IndexSelect(Indexing::new(axis)), &[x, &ids])?.of(x.element().kind))
    }

    /// Reverses an axis.
    ///
    /// # Errors
    /// The operation's.
    pub fn flip(&self, x: &Tensor, axis: usize) -> Lowered<Tensor> {
        Ok(self.apply(&Op::Flip(Flip::new(&[axis])), &[x])?.of(x.element().kind))
    }

    /// Repeats each slice of an axis in place.
    ///
    /// # Errors
    /// The operation's.
    pub fn repeat_each(&self, x: &Tensor, axis: usize, times: usize) -> Lowered<Tensor> {
        let mut shape = x.dims().to_vec();
        shape.insert(axis + 1, times);
        let repeated = x.unsqueeze(axis + 1)?.broadcast(&shape)?;
        shape.remove(axis + 1);
        shape[axis] *= times;
        self.reshape(&repeated, &shape)
    }
}
