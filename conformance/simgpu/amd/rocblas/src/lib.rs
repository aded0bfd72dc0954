//! `librocblas.so` for the simulated AMD GPU: general matrix products with rocBLAS's C interface and argument checks, computed on the host when
//! the stream gets there. Products are summed in the compute type in ascending order of k, without fused operations, and rounded once to the
//! output's type; no rocBLAS promises an order.
//!
//! <https://rocm.docs.amd.com/projects/rocBLAS/en/latest/reference/extension.html#rocblas-gemm-strided-batched-ex>. Of the types listed there the
//! complex ones are not implemented.

pub mod api;
mod check;
mod gemm;
pub mod gemm_api;
mod number;
pub mod types;
