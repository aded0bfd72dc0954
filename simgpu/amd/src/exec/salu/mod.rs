//! Scalar instructions.

mod arith;
mod bits;
mod compare;
mod constant;
mod exec;
mod hwreg;
mod logic;

/// The tables of these instructions.
pub const TABLES: &[super::Table] =
    &[arith::TABLE, bits::TABLE, compare::TABLE, constant::TABLE, exec::TABLE, hwreg::TABLE, logic::TABLE];
