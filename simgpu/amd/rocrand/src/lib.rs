//! `librocrand.so` for the simulated AMD GPU: XORWOW, MRG32k3a and Philox4x32-10 with rocRAND's C
//! interface, order and distributions, computed on the host in stream order. The generators are
//! written from their publications, so they are also an independent check of the real library.
//!
//! The uniform and integer sequences are bitwise equal to the real library's. Normally distributed
//! numbers come from the same uniform ones by the same transform. They differ from a card's in the
//! last bits, because a card uses its own logarithm and sine.
//!
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/api-reference/cpp-api.html>

pub mod api;
pub mod distribution;
pub mod ordering;
pub mod seed;

isobit_simgpu_fault::remove_absent_functions!();
