//! Execution: instructions are lowered once to a compact form ([`Step`]), which waves then run.
//!
//! # How an instruction is executed
//! A wave's vector registers are rows of 64 words ([`Row`]). One step works on whole rows, in
//! halves of 32 lanes, which the compiler turns into AVX2 code (each step exists twice, for AVX2
//! with FMA and for the baseline, with the same results). Three engines cover almost everything:
//!
//! * [`lanes!`](lane) for vector instructions: a function of one lane's operands, declared with its
//!   types. The engine fetches the operands (registers, scalars, constants, negated, permuted,
//!   ...), calls the function for every lane, and writes the active lanes back. The types determine
//!   how inline constants and modifiers act: `f32`, `f64`, [`F16`](value::F16), `u32`, `i32`,
//!   `u16`, `i16`, `u64`, `i64`, and [`Mask`](value::Mask), one bit per lane from a scalar register
//!   (carry in, `v_cndmask`'s selector, VCC). A result of type [`Flag`](value::Flag) is gathered to
//!   one bit per lane in the scalar destination.
//! * [`scalars!`](scalar) for scalar instructions: a function of scalar operands and SCC.
//! * [`wave!`](whole) for instructions that need the whole wave: lane crossings, EXEC, program
//!   control, memory.
//!
//! Each file of instructions has a `TABLE` from canonical names to lowering functions; [`lower`]
//! combines them. A name that is in no table, and a modifier that an engine does not support, are
//! errors that name it.

pub mod control;
pub mod cross;
pub mod dpp;
pub mod dual;
pub mod float;
pub mod integer;
pub mod lane;
pub mod lower;
pub mod marks;
pub mod matrix;
pub mod memory;
mod modifiers;
mod observed;
pub mod program;
pub mod row;
pub mod run;
pub mod salu;
pub mod scalar;
pub mod source;
pub mod value;
pub mod wave;
pub mod whole;

pub use program::{Exec, Flow, Program, Step};
pub use row::Row;
pub use wave::{Env, Wave};

/// All instructions: the tables of each subject.
const TABLES: &[&[Table]] =
    &[&[control::TABLE], salu::TABLES, integer::TABLES, float::TABLES, cross::TABLES, matrix::TABLES, memory::TABLES];

/// Instructions by canonical name.
type Table = &'static [(&'static str, lower::Lowering)];
