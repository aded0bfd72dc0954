//! Tests every instruction alone: on one warp with different operands in each lane, with and
//! without AVX2, against exact arithmetic, models and the text of the PTX manual.

mod alu;
mod bits;
mod compare;
mod convert;
mod cross;
mod float;
mod half;
mod integer;
mod lanes;
mod matrix;
mod memory;
mod rig;
mod special;
mod tables;
