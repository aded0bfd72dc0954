//! `mma`: products of small matrices that are distributed over a warp.
//!
//! Integer products are exact, on cards and here, and those of f64 are chains of fused
//! multiply-adds. NVIDIA does not document how the sums of narrower floating-point products are
//! rounded, so they are rejected.

mod double;
mod integer;
mod layout;
mod mma;

use crate::lower::Table;

/// `mma`
pub const TABLES: &[Table] = &[mma::TABLE];
