//! Shapes of matrix products, whose batch dimensions broadcast.

use super::mismatch;
use crate::op::{MatmulInteger, Op};
use crate::{Dims, Result, Shape};
use std::fmt::Display;

/// Returns the batch dimensions of a product: those of both operands, broadcast by NumPy's rules.
pub(in crate::op) fn batch_shape(op: impl Display, lhs: &Shape, rhs: &Shape) -> Result<Dims> {
    let wrong = |what: String| mismatch(format!("{op} of {lhs} and {rhs}: {what}"));
    let ([batch_a @ .., _, _], [batch_b @ .., _, _]) = (lhs.dims(), rhs.dims()) else {
        return Err(wrong("both operands need at least two dimensions".into()));
    };
    let (long, short) = if batch_a.len() < batch_b.len() { (batch_b, batch_a) } else { (batch_a, batch_b) };
    let mut batch: Dims = long.into();
    for (size, &other) in batch[long.len() - short.len()..].iter_mut().zip(short) {
        match (*size, other) {
            (a, b) if a == b || b == 1 => {}
            (1, b) => *size = b,
            _ => {
                return Err(wrong(format!(
                    "the batch dimensions {batch_a:?} and {batch_b:?} differ, and do not broadcast to one shape"
                )));
            }
        }
    }
    Ok(batch)
}

pub(super) fn matmul(op: &Op, lhs: &Shape, rhs: &Shape) -> Result<Shape> {
    let mut dims = batch_shape(op, lhs, rhs)?;
    let ([.., m, k], [.., k2, n]) = (lhs.dims(), rhs.dims()) else {
        unreachable!("the batches are those of matrices");
    };
    if k != k2 {
        return Err(mismatch(format!("{op} of {lhs} and {rhs}: the inner dimensions {k} and {k2} differ")));
    }
    dims.extend([*m, *n]);
    Ok(dims.into())
}

pub(super) fn matmul_integer(op: &Op, p: &MatmulInteger, lhs: &Shape, rhs: &Shape, zeros: &[&Shape]) -> Result<Shape> {
    let result = matmul(op, lhs, rhs)?;
    let [.., m, n] = *result.dims() else { unreachable!("a product is of matrices") };
    for (side, zero) in p.zero_points().zip(zeros) {
        let (operand, line, size) = [("lhs", "row", m), ("rhs", "column", n)][side];
        if !matches!(zero.dims(), [] | [1]) && zero.dims() != [size] {
            return Err(mismatch(format!(
                "{op} takes one zero point of {operand} ([] or [1]), or one for each {line} ([{size}]), not {zero}"
            )));
        }
    }
    Ok(result)
}
