//! `libcurand.so` for the simulated NVIDIA GPU: XORWOW, MRG32k3a and Philox4x32-10 with cuRAND's C
//! API, orders and distributions, computed on the host in stream order. The generators are
//! implemented from their publications.
//!
//! The uniform and integer sequences match the real library bit for bit. Normally distributed
//! numbers come from the same uniform numbers by the same transform, but differ from a card's in
//! the last bits, because a card has its own logarithm and sine. A new seed, offset or order
//! restarts the sequence at the offset. In contrast, if only a seed or an order is set, the real
//! library continues at a position that NVIDIA does not document.
//!
//! <https://docs.nvidia.com/cuda/curand/host-api-overview.html>

pub mod api;
pub mod distribution;
pub mod generate_api;
pub mod ordering;
mod seed;
mod threads;

isobit_simgpu_fault::remove_absent_functions!();
