//! Products of matrices.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{DType, MatmulInteger, Op};

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

/// Multiplies bytes less their zero points. Vectors, and zero points of more than one dimension,
/// are products in f64, which are exact too.
pub(super) fn products(ops: &Ops, [a, b]: [&Tensor; 2], zeros: [Option<&Tensor>; 2]) -> Lowered<Tensor> {
    let is_byte = |x: &Tensor| matches!(x.dtype(), DType::U8 | DType::I8);
    let are_plain = zeros.iter().flatten().all(|zero| zero.rank() <= 1);
    if is_byte(a) && is_byte(b) && a.rank().min(b.rank()) >= 2 && are_plain {
        let op = MatmulInteger::new().with_zero_points(zeros[0].is_some(), zeros[1].is_some());
        let inputs: Vec<&Tensor> = [a, b].into_iter().chain(zeros.into_iter().flatten()).collect();
        return ops.apply(&Op::MatmulInteger(op), &inputs);
    }
    let a = centred(ops, a, zeros[0], a.rank().saturating_sub(2))?;
    let b = centred(ops, b, zeros[1], b.rank().saturating_sub(1))?;
    ops.cast(&ops.matmul(&a, &b)?, DType::I32)
}

fn matmul_integer(call: &Call<'_>) -> Outputs {
    let (operands, zeros) = ([call.input(0)?, call.input(1)?], [call.optional(2)?, call.optional(3)?]);
    Ok(vec![products(call.ops(), operands, zeros)?])
}
