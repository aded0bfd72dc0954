//! `libcudnn.so` for the simulated NVIDIA GPU, computed on the host when the stream reaches a call.
//!
//! - Convolutions and their gradients, through cuDNN's graphs with one operation and through the
//!   legacy functions: two and three spatial dimensions, any strides of input and result, groups,
//!   f16, bf16, f32 and f64.
//! - Attention, through graphs of products, operations on elements, and reductions: f16 and bf16,
//!   heads of up to 256 elements, fewer heads of keys than of queries, masks, lengths, soft-caps
//!   and windows. As in cuDNN, other graphs of several operations have no engine.
//!
//! <https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html>. The library
//! rejects what the documentation forbids, even if release 9.26 accepts it: a required attribute
//! that is not set, a size or stride of zero, more elements than an attribute has. Where the
//! documentation says nothing, the library returns the status of that release, or at least a status
//! of the same category.

mod backend;
mod engine;
mod fused;
mod handle;
mod launch;
mod legacy;
mod problem;
mod status;
#[cfg(test)]
mod testing;

pub use backend::*;
pub use handle::*;
pub use legacy::*;
pub use status::*;

isobit_simgpu_fault::remove_absent_functions!();

/// The cuDNN version that this library replaces, 9.26.0.
const VERSION: usize = 9_26_00;

/// The CUDA version that the replaced library was built with, 13.0.
const CUDA_VERSION: usize = 13_000;

/// Returns the library's version.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    VERSION
}

/// Returns the version of the CUDA runtime that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetCudartVersion() -> usize {
    CUDA_VERSION
}
