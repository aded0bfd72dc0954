//! Comparisons: `setp` and `set`.
//!
//! Only a few comparisons have functions ([`test`]); the others exchange the operands or negate the
//! result. Results are masks, and combining them with a predicate is an operation on masks
//! ([`outcome`]).

mod outcome;
mod set;
mod test;

use crate::lower::Table;

/// `setp` and `set`.
pub const TABLES: &[Table] = &[set::TABLE];
