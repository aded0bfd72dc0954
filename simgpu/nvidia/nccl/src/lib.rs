//! `libnccl.so` for the simulated NVIDIA GPU: NCCL's C interface, over the communicators and
//! collectives that both vendors' libraries share.
//!
//! It combines f8 on every simulated card, which NVIDIA's library does since `sm_90` alone.
//!
//! <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html>
#![allow(non_snake_case, reason = "the vendor's interface")]

use isobit_simgpu_library_common::CUDA;

isobit_simgpu_collective::collective_functions!(&CUDA);

isobit_simgpu_fault::remove_absent_functions!();
