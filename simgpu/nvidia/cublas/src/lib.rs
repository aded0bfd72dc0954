//! `libcublas.so` and `libcublasLt.so` for the simulated NVIDIA GPU: general matrix products with
//! cuBLAS's and cuBLASLt's C API and argument checks, computed on the host when the stream reaches
//! them.
//!
//! All types that NVIDIA lists are supported. If a compute type or a math mode allows a lower
//! precision, the library keeps the full precision.
//!
//! <https://docs.nvidia.com/cuda/cublas/>

pub mod api;
mod call;
mod check;
pub mod gemm_api;
mod kernel;
pub mod lt;
pub mod modes;
pub mod typed_api;
pub mod types;

isobit_simgpu_fault::remove_absent_functions!();
