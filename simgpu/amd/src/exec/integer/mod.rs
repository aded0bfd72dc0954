//! Vector instructions on integers and untyped words.

mod arith;
mod bits;
mod clamp;
mod compare;
mod dot;
mod half;
mod min_max;
mod packed;
mod product;
mod sad;

/// The tables of these instructions.
pub const TABLES: &[super::Table] = &[
    arith::CLAMPED,
    arith::TABLE,
    bits::TABLE,
    compare::I16,
    compare::U16,
    compare::I32,
    compare::U32,
    compare::I64,
    compare::U64,
    dot::TABLE,
    half::CLAMPED,
    half::TABLE,
    min_max::TABLE,
    packed::CLAMPED,
    packed::TABLE,
    product::CLAMPED,
    product::TABLE,
    sad::CLAMPED,
    sad::TABLE,
];
