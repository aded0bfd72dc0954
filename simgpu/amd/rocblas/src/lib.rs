//! `librocblas.so` for the simulated AMD GPU: general matrix products with rocBLAS's C interface
//! and argument checks, computed on the host in stream order.
//!
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/extension.html#rocblas-gemm-strided-batched-ex>.
//! Of the types listed there, the complex ones are not implemented.

pub mod api;
mod check;
pub mod gemm_api;
mod kernel;
pub mod types;

isobit_simgpu_fault::remove_absent_functions!();
