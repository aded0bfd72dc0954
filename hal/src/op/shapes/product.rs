//! Shapes of matrix products, whose batch dimensions broadcast.

use super::mismatch;
use crate::op::{MatmulInteger, Op, ScaledMatmul};
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

pub(super) fn scaled_matmul(op: &Op, lhs: &Shape, rhs: &Shape, scales: [&Shape; 2]) -> Result<Shape> {
    let result = matmul(op, lhs, rhs)?;
    let [batch @ .., m, n] = result.dims() else { unreachable!("a product is of matrices") };
    let k = lhs.dims()[lhs.dims().len() - 1];
    let (blocks, of_k) = (|size: usize| size.div_ceil(ScaledMatmul::BLOCK), k.div_ceil(ScaledMatmul::BLOCK));
    for (side, scale) in scales.into_iter().enumerate() {
        let (operand, line, lines) = [("lhs", "row", *m), ("rhs", "column", *n)][side];
        let fits = match *scale.dims() {
            [] | [1] => true,
            [ref outer @ .., rows, columns] => {
                let (along_lines, along_k) = if side == 0 { (rows, columns) } else { (columns, rows) };
                let repeats = |(&size, &of_batch): (&usize, &usize)| size == 1 || size == of_batch;
                (along_lines == 1 || along_lines == lines || along_lines == blocks(lines))
                    && (along_k == 1 || along_k == of_k)
                    && outer.len() <= batch.len()
                    && outer.iter().rev().zip(batch.iter().rev()).all(repeats)
            }
            _ => false,
        };
        if !fits {
            let of_lines = blocks(lines);
            let sizes = if side == 0 {
                format!("1, {lines} or {of_lines} by 1 or {of_k}")
            } else {
                format!("1 or {of_k} by 1, {lines} or {of_lines}")
            };
            return Err(mismatch(format!(
                "{op} of {lhs} and {rhs} takes one scale of {operand} ([] or [1]), or a matrix of {sizes} (one for all, for each {line}, or for each block of {} along a dimension), before which dimensions broadcast to the batch {batch:?}; not {scale}",
                ScaledMatmul::BLOCK
            )));
        }
    }
    Ok(result)
}
