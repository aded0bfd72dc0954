//! Shapes of operations whose results have a size that depends on values, and which dtype holds
//! their counts and coordinates.

use super::{dimension, invalid, mismatch, rank, with_dim};
use crate::op::Op;
use crate::{DType, Result, Shape};

pub(super) fn compress(op: &Op, dim: usize, bound: usize, src: &Shape, mask: &Shape) -> Result<Shape> {
    let size = dimension(op, src, dim)?;
    rank(op, "a mask", mask, 1)?;
    if mask.dims()[0] > size {
        return Err(mismatch(format!(
            "{op}: a mask of {mask} is longer than dimension {dim} of {src}; it has at most one flag per slice"
        )));
    }
    Ok(with_dim(src, dim, bound))
}

/// Checks that all elements can be sorted as one row, as the positions of a sort are u32.
pub(super) fn sortable(op: &Op, src: &Shape) -> Result<()> {
    let n = src.elem_count();
    if n > u32::MAX as usize {
        return Err(invalid(format!("{op} of {n} elements: they are sorted as one row, of at most {}", u32::MAX)));
    }
    Ok(())
}

impl Op {
    /// Checks that the dtype of the destination holds every count or coordinate that the inputs may
    /// give. The shapes must suit the operation.
    ///
    /// # Errors
    /// `InvalidArgument` if it does not.
    pub(crate) fn check_counts(&self, inputs: &[&Shape], dst: DType) -> Result<()> {
        let (most, what) = match (self, inputs) {
            (Op::CountNonzero, [src]) => (src.elem_count(), "elements"),
            (Op::Nonzero { .. }, [src]) => (src.dims().iter().copied().max().unwrap_or(0), "elements in a dimension"),
            _ => return Ok(()),
        };
        if dst == DType::U32 && most > u32::MAX as usize {
            return Err(invalid(format!(
                "{self} to u32 takes at most {} {what}, not {most}; use a destination of i64",
                u32::MAX
            )));
        }
        Ok(())
    }
}
