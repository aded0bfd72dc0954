//! Arithmetic of binary16 and bfloat16, single and in pairs.
//!
//! Every operation is computed in binary64, where products are exact and the rounding error of a
//! sum can be computed, and rounded once ([`value`]).

mod approx;
mod arith;
mod min_max;
mod value;

pub use approx::{ex2, tanh};
pub use arith::{abs, add, fma, mul, neg, sub};
pub use min_max::{max, min};
pub use value::{BF16, BF16x2, F16, F16x2, Half};
