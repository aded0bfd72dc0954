//! `libcurand.so` for the simulated NVIDIA GPU: XORWOW, MRG32k3a and Philox4x32-10 with cuRAND's C
//! interface, orders and distributions, computed on the host in stream order. The generators are
//! written from their publications.
//!
//! The uniform and integer sequences are the real library's bit for bit. Normally distributed
//! numbers come from the same uniform ones by the same transform, and differ from a card's in the
//! last bits, since that uses its own logarithm and sine. A new seed, offset or order starts the
//! sequence at the offset; after a seed alone, or an order, the real library goes on at a place
//! that NVIDIA does not document.
//!
//! <https://docs.nvidia.com/cuda/curand/host-api-overview.html>

pub mod api;
pub mod distribution;
pub mod generate_api;
pub mod ordering;
mod seed;
mod threads;
