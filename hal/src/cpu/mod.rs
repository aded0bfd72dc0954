//! The CPU driver. It is the reference whose bits every other driver must reproduce, and the
//! default device if there is no GPU.
//!
//! It is written from `docs/numerics.md` and shares no code with the GPU kernels. Clarity comes
//! first, then parallelism over blocks. Inner loops are compiled twice, for the baseline
//! instruction set and for AVX2 with FMA, and the version is chosen at run time; both give the same
//! bits.

mod affine;
mod attention;
mod backend;
mod bias_activation;
mod binary;
mod block_product;
mod blocked;
mod cast;
mod col2im;
mod compact;
mod compare;
mod compute;
mod conv;
mod copy;
mod device;
mod element;
mod fill;
mod grid_sample;
mod index_map;
mod indexing;
#[doc(hidden)]
pub mod internals;
mod math;
mod math_dispatch;
mod matmul;
mod matmul_integer;
mod neighbourhood;
mod norm;
mod packed;
mod planes;
mod pool_backward;
mod pooling;
mod quantized;
mod random;
mod reduce;
mod resize;
mod rope;
mod scaled_matmul;
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
