//! Shapes of indexing: ids fit the tensor in every dimension except the one they index, and tuples
//! of ids index as many dimensions as they are long.

use super::{dimension, invalid, mismatch, rank, with_dim};
use crate::op::Op;
use crate::{Dims, Result, Shape};

pub(super) fn gather(op: &Op, src: &Shape, ids: &Shape, dim: usize) -> Result<Shape> {
    dimension(op, src, dim)?;
    within(op, ids, src, dim)?;
    Ok(ids.clone())
}

pub(super) fn index_select(op: &Op, src: &Shape, ids: &Shape, dim: usize) -> Result<Shape> {
    dimension(op, src, dim)?;
    rank(op, "ids", ids, 1)?;
    Ok(with_dim(src, dim, ids.dims()[0]))
}

/// Checks a scatter: ids and source have one shape, which fits into the destination in every
/// dimension except `dim`.
pub(super) fn scatter(op: &Op, to: &Shape, ids: &Shape, src: &Shape, dim: usize) -> Result<Shape> {
    dimension(op, to, dim)?;
    if ids != src {
        return Err(mismatch(format!("{op}: ids {ids} and source {src} have different shapes")));
    }
    within(op, ids, to, dim)?;
    Ok(to.clone())
}

pub(super) fn index_add(op: &Op, to: &Shape, ids: &Shape, src: &Shape, dim: usize) -> Result<Shape> {
    dimension(op, to, dim)?;
    rank(op, "ids", ids, 1)?;
    if *src != with_dim(to, dim, ids.dims()[0]) {
        return Err(mismatch(format!("{op}: a source of {src} does not fit ids {ids} for dimension {dim} of {to}")));
    }
    Ok(to.clone())
}

pub(super) fn gather_nd(op: &Op, src: &Shape, ids: &Shape, batch_dims: usize) -> Result<Shape> {
    let (tuples, slice) = split(op, src, ids, batch_dims)?;
    if tuples.get(..batch_dims) != src.dims().get(..batch_dims) {
        return Err(mismatch(format!("{op}: the first {batch_dims} dimensions of {src} and of the ids {ids} differ")));
    }
    Ok(joined(tuples, slice))
}

pub(super) fn scatter_nd(op: &Op, to: &Shape, ids: &Shape, src: &Shape) -> Result<Shape> {
    let (tuples, slice) = split(op, to, ids, 0)?;
    let wanted = joined(tuples, slice);
    if *src != wanted {
        return Err(mismatch(format!("{op}: ids {ids} for {to} take a source of {wanted}, not {src}")));
    }
    Ok(to.clone())
}

/// Returns the dimensions of the tuples, and those of the slices that they name.
fn split<'a>(op: &Op, tensor: &'a Shape, ids: &'a Shape, batch_dims: usize) -> Result<(&'a [usize], &'a [usize])> {
    let Some((&k, tuples)) = ids.dims().split_last() else {
        return Err(mismatch(format!("{op}: the last dimension of the ids holds tuples, but they have rank 0")));
    };
    let indexed = batch_dims.saturating_add(k);
    if batch_dims > tuples.len() || indexed > tensor.rank() {
        return Err(mismatch(format!(
            "{op}: tuples of {k} ids, after {batch_dims} shared dimensions, do not index {tensor}; the ids are {ids}"
        )));
    }
    let (indexed, slice) = tensor.dims().split_at(indexed);
    let positions = indexed.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    if positions.is_none_or(|n| i64::try_from(n).is_err()) {
        return Err(invalid(format!("{op}: the dimensions {indexed:?} have more positions than an i64 counts")));
    }
    Ok((tuples, slice))
}

fn joined(before: &[usize], after: &[usize]) -> Shape {
    let mut dims: Dims = before.into();
    dims.extend_from_slice(after);
    dims.into()
}

/// Checks that ids have the tensor's rank and fit into it in every dimension except `dim`.
fn within(op: &Op, ids: &Shape, tensor: &Shape, dim: usize) -> Result<()> {
    let fits = |d: usize| d == dim || ids.dims()[d] <= tensor.dims()[d];
    if ids.rank() == tensor.rank() && (0..ids.rank()).all(fits) {
        return Ok(());
    }
    Err(mismatch(format!("{op}: ids {ids} must have the rank of {tensor} and may exceed it only in dimension {dim}")))
}
