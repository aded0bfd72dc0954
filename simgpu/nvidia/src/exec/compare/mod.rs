//! Comparisons: `setp` and `set`.
//!
//! Few functions compare ([`test`]); the other comparisons are these with their operands exchanged
//! or their result negated. Results are masks, and joining them with a predicate is an operation of
//! masks ([`outcome`]).

mod outcome;
mod set;
mod test;

use crate::lower::Table;

/// `setp` and `set`.
pub const TABLES: &[Table] = &[set::TABLE];
