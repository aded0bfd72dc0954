//! Scalar instructions.

mod arith;
mod bits;
mod compare;
mod constant;
mod exec;
mod hwreg;
mod logic;

/// Their tables.
pub const TABLES: &[super::Table] =
    &[arith::TABLE, bits::TABLE, compare::TABLE, constant::TABLE, exec::TABLE, hwreg::TABLE, logic::TABLE];
