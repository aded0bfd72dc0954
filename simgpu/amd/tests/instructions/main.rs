//! Tests of every single instruction: on one wave of every target, with and without AVX2, against
//! models and the text of AMD's manuals.

mod bench;
mod bundle;
mod cross;
mod dpp;
mod float;
mod integer;
mod matrix;
mod memory;
mod row;
mod salu;
mod value;
