//! Fills, copies, casts and elementwise operations: contiguous, with turned, stepped, narrowed and
//! broadcast operands, and with gaps in the destination.

use super::Cases;
use crate::case::Dist;
use crate::huge::Sizes;
use crate::huge::tiled::{COLUMNS, Operand, ROWS, TILE, Tiled, most};
use isobit_hal::{Activation, Affine, BinaryOp, Cast, Clamp, CmpOp, DType, Op, Powf, Scalar, UnaryOp, bf16};

/// A contiguous vector.
fn flat(dtype: DType) -> Operand {
    Operand::new(dtype, &[TILE]).along(0)
}

/// A matrix with many rows.
fn tall(dtype: DType) -> Operand {
    Operand::new(dtype, &[ROWS, COLUMNS]).along(0)
}

/// A matrix with many columns.
fn wide(dtype: DType) -> Operand {
    Operand::new(dtype, &[ROWS, COLUMNS]).along(1)
}

/// A matrix with many rows, which is stored column by column.
fn tall_turned(dtype: DType) -> Operand {
    Operand::new(dtype, &[COLUMNS, ROWS]).along(1).view(|l, _| l.transpose(0, 1))
}

/// A matrix with many columns, which is stored column by column.
fn wide_turned(dtype: DType) -> Operand {
    Operand::new(dtype, &[COLUMNS, ROWS]).along(0).view(|l, _| l.transpose(0, 1))
}

/// A row that every row of a tall matrix repeats.
fn row(dtype: DType) -> Operand {
    Operand::new(dtype, &[1, COLUMNS]).view(|l, tiles| l.broadcast_as((ROWS * tiles, COLUMNS)))
}

/// A tall matrix in every second column of a buffer.
fn tall_stepped(dtype: DType) -> Operand {
    Operand::new(dtype, &[ROWS, 2 * COLUMNS]).along(0).view(|l, _| l.step(1, 2))
}

/// A tall matrix in rows of an aligned pitch.
fn tall_pitched(dtype: DType) -> Operand {
    Operand::new(dtype, &[ROWS, 176]).along(0).view(|l, _| l.narrow(1, 3, COLUMNS))
}

pub(super) fn cases(s: Sizes) -> Cases {
    use DType::{BF16, F16, F32, F64, I8, I32, I64, U8, U32};
    let (n, half) = (most(s), s.beyond_31());
    let mut out = moved(n, half);
    let mut add = |what, op, inputs, dst, elements| out.push((what, Tiled::new(op, inputs, dst, elements)));
    add("contiguous", Op::Cast(Cast::default()), vec![flat(F32)], flat(F16), n);
    add("contiguous", Op::Cast(Cast::default()), vec![flat(I64)], flat(BF16), half);
    add("contiguous", Op::Cast(Cast::default()), vec![flat(F16)], flat(F64), half);
    add("turned", Op::Cast(Cast::default()), vec![tall_turned(F32)], tall(I8), n);
    add("contiguous", Op::Affine(Affine::new(1.5, -0.25)), vec![flat(F32)], flat(F32), n);
    add("turned", Op::Affine(Affine::new(3.0, 7.0)), vec![wide_turned(I32)], wide(I32), n);
    add("contiguous", Op::Clamp(Clamp::new(-1.0, 2.5)), vec![flat(BF16)], flat(BF16), n);
    add("contiguous", Op::Powf(Powf::new(2.0)), vec![flat(F32)], flat(F32), half);
    add("contiguous", Op::Unary(UnaryOp::Exp), vec![flat(F32)], flat(F32), n);
    add("contiguous", Op::Unary(UnaryOp::Sin), vec![flat(F64)], flat(F64), half);
    add("contiguous", Op::Unary(UnaryOp::Silu), vec![flat(F16)], flat(F16), n);
    add("stepped", Op::Unary(UnaryOp::Neg), vec![tall_stepped(F16)], tall(F16), n);
    add("to gaps", Op::Unary(UnaryOp::Abs), vec![tall_turned(U8)], tall_stepped(U8), n);
    add("contiguous", Op::Binary(BinaryOp::Add), vec![flat(F32), flat(F32)], flat(F32), n);
    add("turned and a row", Op::Binary(BinaryOp::Add), vec![tall_turned(F32), row(F32)], tall(F32), n);
    add("one turned", Op::Binary(BinaryOp::Mul), vec![wide_turned(F16), wide(F16)], wide(F16), n);
    add("narrowed", Op::Binary(BinaryOp::Maximum), vec![tall_pitched(I8), tall(I8)], tall(I8), n);
    add("contiguous", Op::Binary(BinaryOp::Div), vec![flat(U32), flat(U32)], flat(U32), half);
    add("contiguous", Op::Cmp(CmpOp::Lt), vec![flat(F32), flat(F32)], flat(U8), n);
    add("one turned", Op::Cmp(CmpOp::Eq), vec![tall_turned(I8), tall(I8)], tall(U8), n);
    let mask = |o: Operand| o.dist(Dist::Mask);
    add("contiguous", Op::WhereCond, vec![mask(flat(U8)), flat(F16), flat(F16)], flat(F16), n);
    add("one turned", Op::WhereCond, vec![mask(tall(U8)), tall_turned(U8), row(U8)], tall(U8), n);
    let bias = Op::AddActivation(Activation::Silu);
    add("a row as bias", bias, vec![tall(F16), row(F16)], tall(F16), n);
    out
}

/// Fills and copies, which move bits.
fn moved(n: usize, half: usize) -> Cases {
    use DType::{F16, F32, F64, I64, U8};
    let random = |o: Operand| o.dist(Dist::Uniform { scale: 7 });
    let copy = |src, dst, elements| Tiled::new(Op::Copy, vec![random(src)], dst, elements);
    let cube = Operand::new(F16, &[15, 7, 143]).along(0).view(|l, _| l.permute(&[1, 2, 0]));
    let every_third = Operand::new(U8, &[ROWS, 3 * COLUMNS]).along(0).view(|l, _| l.step(1, 3));
    let fill = |scalar: Scalar, dst| Tiled::new(Op::Fill(scalar), Vec::new(), dst, n);
    vec![
        ("contiguous", fill(Scalar::U8(91), flat(U8))),
        ("contiguous", fill(Scalar::F32(1.5), flat(F32))),
        ("to gaps", fill(Scalar::BF16(bf16::from_f32(-2.0)), tall_stepped(DType::BF16))),
        ("contiguous", copy(flat(U8), flat(U8), n)),
        ("rows turned", copy(tall_turned(U8), tall(U8), n)),
        ("rows turned, to gaps", copy(tall_turned(U8), tall_stepped(U8), n)),
        ("stepped", copy(every_third, tall(U8), n)),
        ("contiguous", copy(flat(F32), flat(F32), n)),
        ("rows turned", copy(tall_turned(F32), tall(F32), n)),
        ("columns turned", copy(wide_turned(F32), wide(F32), n)),
        ("rows turned, to gaps", copy(tall_turned(F32), tall_stepped(F32), n)),
        ("narrowed", copy(tall_pitched(F32), tall(F32), n)),
        ("a row repeated", copy(row(F32), tall(F32), n)),
        ("permuted", copy(cube, Operand::new(F16, &[7, 143, 15]).along(2), n)),
        ("contiguous", copy(flat(F64), flat(F64), half)),
        ("columns turned", copy(wide_turned(I64), wide(I64), half)),
        ("pitched rows", copy(tall_pitched(F32), tall_pitched(F32), n).in_rows()),
        ("pitched rows", copy(tall_pitched(U8), tall(U8), n).in_rows()),
    ]
}
