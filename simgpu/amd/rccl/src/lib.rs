//! `librccl.so` for the simulated AMD GPU: RCCL's C interface, which is NCCL's, over the
//! communicators and collectives that both vendors' libraries share.
//!
//! It computes the f8 of the Open Compute Project on every simulated card, which AMD's library does
//! on gfx950 and gfx12 alone.
//!
//! <https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/library-specification.html>
#![allow(non_snake_case, reason = "the vendor's interface")]

use isobit_simgpu_library_common::HIP;

isobit_simgpu_collective::collective_functions!(&HIP);

isobit_simgpu_fault::remove_absent_functions!();
