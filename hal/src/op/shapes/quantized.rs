//! Shapes of products with quantized matrices.

use super::{invalid, mismatch};
use crate::op::{GgmlDType, Op, QActivations, QMatmul};
use crate::{Dims, Result, Shape};

pub(super) fn qmatmul(op: &Op, q: &QMatmul, weight: &Shape, x: &Shape) -> Result<Shape> {
    let ([n, bytes], [outer @ .., k]) = (weight.dims(), x.dims()) else {
        return Err(mismatch(format!(
            "{op} takes blocks of rank 2 and activations of rank 2 or more, not {weight} and {x}"
        )));
    };
    let elements = q.format.row_elements(*bytes)?;
    if outer.is_empty() || elements != *k {
        return Err(mismatch(format!(
            "{op} of {x}: activations must be [.., m, k], and the rows of {weight} hold {elements} elements"
        )));
    }
    activations(op, q, *k)?;
    let mut dims: Dims = outer.into();
    dims.push(*n);
    Ok(dims.into())
}

/// Checks that rows of activations to be quantized are a multiple of the q8_1 block size.
fn activations(op: &Op, q: &QMatmul, k: usize) -> Result<()> {
    let block = GgmlDType::Q8_1.block_size();
    if q.activations == QActivations::Q8_1 && !k.is_multiple_of(block) {
        return Err(invalid(format!(
            "{op}: a row of {k} activations is not a multiple of the q8_1 block size {block}"
        )));
    }
    Ok(())
}

pub(super) fn qmatmul_id(op: &Op, q: &QMatmul, weight: &Shape, x: &Shape, ids: &Shape) -> Result<Shape> {
    let ([_, n, bytes], [tokens, rows, k], [id_tokens, top]) = (weight.dims(), x.dims(), ids.dims()) else {
        return Err(mismatch(format!(
            "{op} takes blocks and activations of rank 3 and ids of rank 2, not {weight}, {x} and {ids}"
        )));
    };
    let elements = q.format.row_elements(*bytes)?;
    if tokens != id_tokens || (*rows != 1 && rows != top) || elements != *k {
        return Err(mismatch(format!(
            "{op}: activations {x} must be [tokens, 1 or top, k] for ids [tokens, top], which are {ids}; the rows of {weight} hold {elements} elements"
        )));
    }
    activations(op, q, *k)?;
    Ok([*tokens, *top, *n].into())
}
