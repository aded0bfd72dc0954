//! Functions that are compositions of operations of the HAL.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{BinaryOp, Clamp, CmpOp, Elu, Op, UnaryOp};

pub(super) const TABLE: Table = &[
    ("Softsign", Rule::Code(softsign)),
    ("HardSigmoid", Rule::Code(hard_sigmoid)),
    ("PRelu", Rule::Code(prelu)),
    ("Selu", Rule::Code(selu)),
    ("Swish", Rule::Code(swish_node)),
    ("SwiGLU", Rule::Code(swiglu)),
    ("ThresholdedRelu", Rule::Code(thresholded_relu)),
    ("Shrink", Rule::Code(shrink)),
    ("Clip", Rule::Code(clip)),
    ("ai.onnx.ml.Binarizer", Rule::Code(binarizer)),
];

fn softsign(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    Ok(vec![ops.div(x, &ops.affine(&ops.unary(UnaryOp::Abs, x)?, 1.0, 1.0)?)?])
}

fn hard_sigmoid(call: &Call<'_>) -> Outputs {
    let (alpha, beta) = (call.float("alpha").unwrap_or(0.2), call.float("beta").unwrap_or(0.5));
    let line = call.ops().affine(call.input(0)?, alpha, beta)?;
    Ok(vec![call.ops().apply(&Op::Clamp(Clamp::new(0.0, 1.0)), &[&line])?])
}

fn prelu(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let sloped = ops.mul(x, call.input(1)?)?;
    Ok(vec![ops.select(&ops.compare_with(CmpOp::Lt, x, 0.0)?, &sloped, x)?])
}

/// gamma ELU(x), with the constants of ONNX's specification.
fn selu(call: &Call<'_>) -> Outputs {
    let alpha = call.float("alpha").unwrap_or(1.673_263_192_176_818_8);
    let gamma = call.float("gamma").unwrap_or(1.050_700_902_938_842_8);
    let ops = call.ops();
    let bent = ops.apply(&Op::Elu(Elu::new(alpha)), &[call.input(0)?])?;
    Ok(vec![ops.affine(&bent, gamma, 0.0)?])
}

/// x sigmoid(alpha x).
pub(super) fn swish(ops: &Ops, x: &Tensor, alpha: f64) -> Lowered<Tensor> {
    if alpha == 1.0 {
        return ops.unary(UnaryOp::Silu, x);
    }
    ops.mul(x, &ops.unary(UnaryOp::Sigmoid, &ops.affine(x, alpha, 0.0)?)?)
}

fn swish_node(call: &Call<'_>) -> Outputs {
    Ok(vec![swish(call.ops(), call.input(0)?, call.float("alpha").unwrap_or(1.0))?])
}

fn swiglu(call: &Call<'_>) -> Outputs {
    let gate = swish(call.ops(), call.input(0)?, call.float("alpha").unwrap_or(1.0))?;
    Ok(vec![call.ops().mul(&gate, call.input(1)?)?])
}

fn thresholded_relu(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let above = ops.compare_with(CmpOp::Gt, x, call.float("alpha").unwrap_or(1.0))?;
    Ok(vec![ops.select(&above, x, &ops.scalar(x.dtype(), 0.0)?)?])
}

fn shrink(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let (lambda, bias) = (call.float("lambd").unwrap_or(0.5), call.float("bias").unwrap_or(0.0));
    let zero = ops.scalar(x.dtype(), 0.0)?;
    let above =
        ops.select(&ops.compare_with(CmpOp::Gt, x, lambda)?, &ops.affine(x, 1.0, -bias)?, &zero.broadcast(x.dims())?)?;
    Ok(vec![ops.select(&ops.compare_with(CmpOp::Lt, x, -lambda)?, &ops.affine(x, 1.0, bias)?, &above)?])
}

/// Both limits are one operation; one of them is a maximum or a minimum.
fn clip(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let limit = |at, name| match call.optional(at)? {
        Some(limit) => Ok(Some(limit.clone())),
        None => call.float(name).map(|value| ops.scalar(x.dtype(), value)).transpose(),
    };
    Ok(vec![match (limit(1, "min")?, limit(2, "max")?) {
        (Some(min), Some(max)) => ops.apply(&Op::Clamp(Clamp::new(ops.to_float(&min)?, ops.to_float(&max)?)), &[x])?,
        (Some(min), None) => ops.binary(BinaryOp::Maximum, x, &min)?,
        (None, Some(max)) => ops.binary(BinaryOp::Minimum, x, &max)?,
        (None, None) => x.clone(),
    }])
}

fn binarizer(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let above = ops.compare_with(CmpOp::Gt, x, call.float("threshold").unwrap_or(0.0))?;
    Ok(vec![ops.cast(&above, x.dtype())?])
}
