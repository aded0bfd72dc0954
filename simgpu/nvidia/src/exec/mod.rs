//! Execution: warps of 32 lanes that run steps.
//!
//! A register is a row of 32 lanes ([`row`]); nearly every instruction is a function of one lane's
//! operands, declared with its types, which [`lane`] applies to all lanes and the compiler turns
//! into AVX2 code (each step exists twice, for AVX2 with FMA and, a lane at a time, for the
//! baseline, with the same results). Whole-warp functions do the rest: memory, control, exchanges
//! between lanes.

pub mod alu;
mod bits;
mod compare;
pub mod control;
mod convert;
pub mod cross;
pub mod emit;
mod float;
pub mod fragments;
mod half;
mod integer;
pub mod lane;
mod matrix;
pub mod memory;
pub mod program;
pub mod row;
pub mod run;
pub mod special;
pub mod warp;

#[doc(hidden)]
pub use float::Rounding;
pub use program::{Exec, Flow, Place, Program, Step};
pub use row::{LANES, Row};
pub use warp::{Env, Warp};
