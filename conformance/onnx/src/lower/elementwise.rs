//! Functions of one and of two arguments that are operations of the HAL.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use isobit::{BinaryOp, Celu, CmpOp, DType, Elu, LeakyRelu, Op, UnaryOp};

pub(super) const TABLE: Table = &[
    ("Abs", Rule::Unary(UnaryOp::Abs)),
    ("Acos", Rule::Unary(UnaryOp::Acos)),
    ("Acosh", Rule::Unary(UnaryOp::Acosh)),
    ("Asin", Rule::Unary(UnaryOp::Asin)),
    ("Asinh", Rule::Unary(UnaryOp::Asinh)),
    ("Atan", Rule::Unary(UnaryOp::Atan)),
    ("Atanh", Rule::Unary(UnaryOp::Atanh)),
    ("Ceil", Rule::Unary(UnaryOp::Ceil)),
    ("Cos", Rule::Unary(UnaryOp::Cos)),
    ("Cosh", Rule::Unary(UnaryOp::Cosh)),
    ("Erf", Rule::Unary(UnaryOp::Erf)),
    ("Exp", Rule::Unary(UnaryOp::Exp)),
    ("Floor", Rule::Unary(UnaryOp::Floor)),
    ("HardSwish", Rule::Unary(UnaryOp::HardSwish)),
    ("Log", Rule::Unary(UnaryOp::Log)),
    ("Mish", Rule::Unary(UnaryOp::Mish)),
    ("Neg", Rule::Unary(UnaryOp::Neg)),
    ("Reciprocal", Rule::Unary(UnaryOp::Recip)),
    ("Relu", Rule::Unary(UnaryOp::Relu)),
    ("Round", Rule::Unary(UnaryOp::RoundEven)),
    ("Sigmoid", Rule::Unary(UnaryOp::Sigmoid)),
    ("Sign", Rule::Unary(UnaryOp::Sign)),
    ("Sin", Rule::Unary(UnaryOp::Sin)),
    ("Sinh", Rule::Unary(UnaryOp::Sinh)),
    ("Softplus", Rule::Unary(UnaryOp::Softplus)),
    ("Sqrt", Rule::Unary(UnaryOp::Sqrt)),
    ("Tan", Rule::Unary(UnaryOp::Tan)),
    ("Tanh", Rule::Unary(UnaryOp::Tanh)),
    ("Add", Rule::Binary(BinaryOp::Add)),
    ("Sub", Rule::Binary(BinaryOp::Sub)),
    ("Mul", Rule::Binary(BinaryOp::Mul)),
    ("Div", Rule::Binary(BinaryOp::Div)),
    ("Equal", Rule::Compare(CmpOp::Eq)),
    ("Greater", Rule::Compare(CmpOp::Gt)),
    ("GreaterOrEqual", Rule::Compare(CmpOp::Ge)),
    ("Less", Rule::Compare(CmpOp::Lt)),
    ("LessOrEqual", Rule::Compare(CmpOp::Le)),
    ("Max", Rule::Fold(BinaryOp::Maximum)),
    ("Min", Rule::Fold(BinaryOp::Minimum)),
    ("Sum", Rule::Fold(BinaryOp::Add)),
    ("Mean", Rule::Code(mean)),
    ("Elu", Rule::Code(elu)),
    ("Celu", Rule::Code(celu)),
    ("LeakyRelu", Rule::Code(leaky_relu)),
    ("Gelu", Rule::Code(gelu)),
    ("Pow", Rule::Code(pow)),
    ("Mod", Rule::Code(modulo)),
    ("Where", Rule::Code(select)),
];

fn mean(call: &Call<'_>) -> Outputs {
    let sum = Rule::Fold(BinaryOp::Add).lower(call)?;
    let count = call.ops().scalar(sum[0].dtype(), call.inputs() as f64)?;
    Ok(vec![call.ops().div(&sum[0], &count)?])
}

fn elu(call: &Call<'_>) -> Outputs {
    let op = Op::Elu(Elu::new(call.float("alpha").unwrap_or(1.0)));
    Ok(vec![call.ops().apply(&op, &[call.input(0)?])?])
}

fn celu(call: &Call<'_>) -> Outputs {
    let op = Op::Celu(Celu::new(call.float("alpha").unwrap_or(1.0)));
    Ok(vec![call.ops().apply(&op, &[call.input(0)?])?])
}

fn leaky_relu(call: &Call<'_>) -> Outputs {
    let op = Op::LeakyRelu(LeakyRelu::new(call.float("alpha").unwrap_or(0.01)));
    Ok(vec![call.ops().apply(&op, &[call.input(0)?])?])
}

fn gelu(call: &Call<'_>) -> Outputs {
    let op = match call.text("approximate", "none") {
        "none" => UnaryOp::GeluErf,
        "tanh" => UnaryOp::Gelu,
        other => return Err(call.unknown("approximate", other)),
    };
    Ok(vec![call.ops().unary(op, call.input(0)?)?])
}

/// The result has the dtype of the base. An integer to a float power is computed in f64.
fn pow(call: &Call<'_>) -> Outputs {
    let (ops, base, exponent) = (call.ops(), call.input(0)?, call.input(1)?);
    if base.dtype().is_int() && exponent.dtype().is_float() {
        let wide = DType::F64;
        let power = ops.binary(BinaryOp::Pow, &ops.cast(base, wide)?, &ops.cast(exponent, wide)?)?;
        return Ok(vec![ops.cast(&power, base.dtype())?]);
    }
    Ok(vec![ops.binary(BinaryOp::Pow, base, &ops.cast(exponent, base.dtype())?)?])
}

/// The remainder has the sign of the dividend with `fmod`, else that of the divisor.
fn modulo(call: &Call<'_>) -> Outputs {
    let (ops, a, b) = (call.ops(), call.input(0)?, call.input(1)?);
    let op = if call.flag("fmod") { BinaryOp::Rem } else { BinaryOp::FloorMod };
    Ok(vec![ops.binary(op, a, b)?])
}

fn select(call: &Call<'_>) -> Outputs {
    Ok(vec![call.ops().select(call.input(0)?, call.input(1)?, call.input(2)?)?])
}
