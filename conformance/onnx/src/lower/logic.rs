//! Booleans, bits, and the classes of floats.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use isobit::{BinaryOp, CmpOp, DType, Op, Predicate, UnaryOp};

pub(super) const TABLE: Table = &[
    ("And", Rule::Compare(CmpOp::LogicalAnd)),
    ("Or", Rule::Compare(CmpOp::LogicalOr)),
    ("Xor", Rule::Compare(CmpOp::LogicalXor)),
    ("Not", Rule::Code(|call| predicate(call, Predicate::LogicalNot))),
    ("IsNaN", Rule::Code(|call| predicate(call, Predicate::IsNan))),
    ("IsInf", Rule::Code(is_inf)),
    ("BitwiseNot", Rule::Unary(UnaryOp::BitwiseNot)),
    ("BitwiseAnd", Rule::Binary(BinaryOp::BitwiseAnd)),
    ("BitwiseOr", Rule::Binary(BinaryOp::BitwiseOr)),
    ("BitwiseXor", Rule::Binary(BinaryOp::BitwiseXor)),
    ("BitShift", Rule::Code(bit_shift)),
];

fn predicate(call: &Call<'_>, op: Predicate) -> Outputs {
    Ok(vec![call.ops().apply(&Op::Predicate(op), &[call.input(0)?])?.as_bool(true)])
}

fn is_inf(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let equals = |value| ops.compare_with(CmpOp::Eq, x, value);
    let on = |name| call.int(name).unwrap_or(1) != 0;
    Ok(vec![match (on("detect_negative"), on("detect_positive")) {
        (true, true) => return predicate(call, Predicate::IsInf),
        (true, false) => equals(f64::NEG_INFINITY)?,
        (false, true) => equals(f64::INFINITY)?,
        (false, false) => ops.fill(DType::U8, x.dims(), 0.0)?.as_bool(true),
    }])
}

fn bit_shift(call: &Call<'_>) -> Outputs {
    let op = match call.text("direction", "") {
        "LEFT" => BinaryOp::BitwiseLeftShift,
        "RIGHT" => BinaryOp::BitwiseRightShift,
        other => return Err(call.unknown("direction", other)),
    };
    Ok(vec![call.ops().binary(op, call.input(0)?, call.input(1)?)?])
}
