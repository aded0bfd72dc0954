//! Products of matrices.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::DType;

pub(super) const TABLE: Table = &[
    ("MatMul", Rule::Code(|call| Ok(vec![call.ops().matmul(call.input(0)?, call.input(1)?)?]))),
    ("Gemm", Rule::Code(gemm)),
    ("MatMulInteger", Rule::Code(matmul_integer)),
];

fn gemm(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let operand = |at, name| {
        let x = call.input(at)?;
        if call.flag(name) { x.transpose(0, 1) } else { Ok(x.clone()) }
    };
    let product = ops.matmul(&operand(0, "transA")?, &operand(1, "transB")?)?;
    let product = ops.affine(&product, call.float("alpha").unwrap_or(1.0), 0.0)?;
    let Some(bias) = call.optional(2)? else { return Ok(vec![product]) };
    let bias = ops.affine(bias, call.float("beta").unwrap_or(1.0), 0.0)?;
    Ok(vec![ops.add(&product, &bias)?])
}

/// Returns bytes less their zero point as f64, in which products of bytes and their sums are exact.
/// A zero point of one dimension belongs to the dimension `axis`.
pub(super) fn centred(ops: &Ops, x: &Tensor, zero: Option<&Tensor>, axis: usize) -> Lowered<Tensor> {
    let x = ops.cast(x, DType::F64)?;
    let Some(zero) = zero else { return Ok(x) };
    let zero = ops.cast(zero, DType::F64)?;
    if zero.rank() != 1 {
        return ops.sub(&x, &zero);
    }
    let mut shape = vec![1; x.rank()];
    shape[axis] = zero.len();
    if zero.len() == 1 {
        shape = vec![1];
    }
    ops.sub(&x, &ops.reshape(&zero, &shape)?)
}

fn matmul_integer(call: &Call<'_>) -> Outputs {
    let (ops, a, b) = (call.ops(), call.input(0)?, call.input(1)?);
    let a = centred(ops, a, call.optional(2)?, a.rank().saturating_sub(2))?;
    let b = centred(ops, b, call.optional(3)?, b.rank().saturating_sub(1))?;
    Ok(vec![ops.cast(&ops.matmul(&a, &b)?, DType::I32)?])
}
