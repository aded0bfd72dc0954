//! Every instruction by itself: on one warp whose lanes have different operands, with and without
//! AVX2, against exact arithmetic, models and the words of the PTX manual.

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
