//! cuBLASLt: products described by objects, with an algorithm that the program asks for first:
//! <https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api>.
//!
//! NVIDIA's is a library of its own, on which its cuBLAS depends, so a program finds these
//! functions in both there, too. A handle of cuBLAS is one of cuBLASLt.

pub mod api;
pub mod objects;
mod product;
