//! Bits: logic, shifts, fields, permutations, counting, moving and selecting.

mod count;
mod field;
mod logic;
mod lop3;
mod moves;
mod permute;
mod select;
mod shift;

use crate::lower::Table;

/// All of them.
pub const TABLES: &[Table] =
    &[count::TABLE, field::TABLE, logic::TABLE, lop3::TABLE, moves::TABLE, permute::TABLE, select::TABLE, shift::TABLE];
