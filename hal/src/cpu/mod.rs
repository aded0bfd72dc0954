//! The CPU driver: the reference that every other driver is held to, and the default where there is
//! no GPU.
//!
//! It is written from `docs/numerics.md`, shares no code with the kernels, and is clear first and
//! parallel over blocks second. Inner loops are compiled for AVX2 with FMA beside the baseline and
//! chosen at run time; both give the same bits.

mod affine;
mod backend;
mod bias_activation;
mod binary;
mod blocked;
mod cast;
mod compare;
mod compute;
mod conv;
mod copy;
mod device;
mod element;
mod fill;
mod indexing;
#[doc(hidden)]
pub mod internals;
mod math;
mod math_dispatch;
mod matmul;
mod norm;
mod planes;
mod pooling;
mod quantized;
mod random;
mod reduce;
mod rope;
mod scan;
mod select;
mod sort;
mod triangle;
mod unary;
mod upsample;
mod vector;
mod walk;

pub use crate::CpuStorage;
pub use device::CpuDevice;
