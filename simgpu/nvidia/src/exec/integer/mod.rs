//! Integer arithmetic.

mod carry;
mod divide;
mod dot;
mod min_max;
mod product;
mod sum;

pub use min_max::{abs, max, min, neg};
pub use product::{mad, mul};
pub use sum::{add, sub};

pub use divide::div;

use crate::lower::Table;

/// The opcodes that exist only for integers.
pub const TABLES: &[Table] = &[carry::TABLE, divide::TABLE, dot::TABLE, product::TABLE];
