//! Vector instructions on floating point.

mod approx;
mod arith;
mod class;
mod compare;
mod convert;
mod divide;
#[doc(hidden)]
pub mod exact;
mod exponent;
#[doc(hidden)]
pub mod half;
mod legacy;
mod minmax;
mod mix;
mod packed;
mod round;
mod trig;

/// The tables of these instructions.
pub const TABLES: &[super::Table] = &[
    arith::TABLE,
    half::TABLE,
    packed::TABLE,
    legacy::TABLE,
    mix::TABLE,
    minmax::TABLE,
    compare::TABLES[0],
    compare::TABLES[1],
    compare::TABLES[2],
    class::TABLE,
    round::TABLE,
    exponent::TABLE,
    convert::TABLE,
    convert::PACKED,
    approx::TABLE,
    divide::TABLE,
    trig::TABLE,
];
