//! Bits: logic, shifts, fields, permutations, counting, moves and selection.

mod count;
mod field;
mod logic;
mod lop3;
mod moves;
mod permute;
mod select;
mod shift;

use crate::lower::Table;

/// All tables of bit instructions.
pub const TABLES: &[Table] =
    &[count::TABLE, field::TABLE, logic::TABLE, lop3::TABLE, moves::TABLE, permute::TABLE, select::TABLE, shift::TABLE];
