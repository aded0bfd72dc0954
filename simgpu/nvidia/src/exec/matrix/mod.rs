//! `mma`: products of small matrices that a warp holds together.
//!
//! Products of integers are exact, and so they are here. Those of floating point are not: NVIDIA
//! does not document how their sums are rounded, and so they are refused.

mod layout;
mod mma;

use crate::lower::Table;

/// `mma`
pub const TABLES: &[Table] = &[mma::TABLE];
