//! `libcublas.so` for the simulated NVIDIA GPU: general matrix products with cuBLAS's C interface
//! and argument checks, computed on the host when the stream gets there.
//!
//! Of the types that NVIDIA lists all are here. Where a compute type or a math mode allows less
//! precision, the full one is kept.
//!
//! <https://docs.nvidia.com/cuda/cublas/>

pub mod api;
mod call;
mod check;
pub mod gemm_api;
mod kernel;
pub mod modes;
pub mod typed_api;
pub mod types;
