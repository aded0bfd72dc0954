//! `mma`: products of small matrices that are distributed over a warp.
//!
//! Integer products are exact, on cards and here. Floating-point products are not, and NVIDIA does
//! not document how their sums are rounded, so they are rejected.

mod layout;
mod mma;

use crate::lower::Table;

/// `mma`
pub const TABLES: &[Table] = &[mma::TABLE];
