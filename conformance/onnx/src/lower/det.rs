//! Determinants, by elimination.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::Stop;
use isobit::{CmpOp, DType, Indexing, Op, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[("Det", Rule::Code(det))];

/// Takes the largest element of the first column of all matrices as the pivot, and continues with
/// what remains of the other rows.
fn det(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let [outer @ .., rows, columns] = x.dims() else {
        return Err(Stop::Failed(format!("{:?} is no matrix", x.dims())));
    };
    if rows != columns {
        return Err(Stop::Failed(format!("a matrix of {rows} by {columns} has no determinant")));
    }
    let (batch, size) = (outer.iter().product::<usize>(), *rows);
    let mut rest = ops.reshape(x, &[batch, size, size])?;
    let mut product = ops.fill(x.dtype(), &[batch, 1, 1], 1.0)?;
    for n in (1..=size).rev() {
        let column = ops.unary(UnaryOp::Abs, &rest.narrow(2, 0, 1)?)?;
        let at = ops.apply_as(&Op::Reduce(isobit::Reduce::new(ReduceOp::ArgMax, &[1])), DType::U32, &[&column])?;
        let at = at.broadcast(&[batch, 1, n])?;
        let first = rest.narrow(1, 0, 1)?;
        let pivots = ops.apply(&Op::Gather(Indexing::new(1)), &[&rest, &at])?;
        let exchanged = ops.apply(&Op::ScatterSet(Indexing::new(1)), &[&rest, &at, &first])?;
        let pivot = pivots.narrow(2, 0, 1)?;
        let sign = ops.cast(&ops.compare_with(CmpOp::Eq, &at.narrow(2, 0, 1)?, 0.0)?, x.dtype())?;
        product = ops.mul(&product, &ops.mul(&pivot, &ops.affine(&sign, 2.0, -1.0)?)?)?;
        // Where the pivot is 0, the product is 0 whatever remains.
        let is_none = ops.compare_with(CmpOp::Eq, &pivot, 0.0)?;
        let divisor = ops.select(&is_none, &ops.scalar(x.dtype(), 1.0)?, &pivot)?;
        let below = exchanged.narrow(1, 1, n - 1)?;
        let times = ops.div(&below.narrow(2, 0, 1)?, &divisor)?;
        rest = ops.sub(&below.narrow(2, 1, n - 1)?, &ops.mul(&times, &pivots.narrow(2, 1, n - 1)?)?)?;
    }
    Ok(vec![ops.reshape(&product, outer)?])
}
