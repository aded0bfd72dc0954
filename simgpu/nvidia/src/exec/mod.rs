//! Execution: warps of 32 lanes run steps.
//!
//! A register is a row of 32 lanes ([`row`]). Nearly every instruction is a function of one lane's
//! operands, declared with its types; [`lane`] applies it to all lanes, and the compiler turns it
//! into AVX2 code. Each step exists in two versions with the same results: for AVX2 with FMA, and
//! for the baseline, one lane at a time. Whole-warp functions do the rest: memory, control flow,
//! exchanges between lanes.

pub mod alloca;
pub mod alu;
mod bits;
pub mod call;
pub mod calls;
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
mod observed;
mod print;
pub mod program;
pub mod row;
pub mod run;
pub mod special;
pub mod stack;
pub mod warp;

#[doc(hidden)]
pub use float::Rounding;
pub use print::{PRINT, TABLE as PRINT_TABLE};
pub use program::{Exec, Flow, Place, Program, Step};
pub use row::{LANES, Row};
pub use warp::{Env, Warp};
