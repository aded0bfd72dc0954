//! `libcudnn.so` for the simulated NVIDIA GPU: convolutions and their gradients, through cuDNN's
//! graphs of one operation and through the functions that were there before graphs, computed on the
//! host when the stream gets there. Two and three spatial dimensions, any strides of input and
//! result, groups, f16, bf16, f32 and f64.
//!
//! <https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html>. What the
//! documentation forbids is refused, also where release 9.26 lets it pass: a required attribute
//! that is not set, a size or stride of zero, more elements than an attribute has. Where it says
//! nothing, the answer is that release's, in the status's category at least.

mod backend;
mod engine;
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

/// The version that this stands in for, 9.26.0.
const VERSION: usize = 9_26_00;

/// The CUDA that this stands in for was built with, 13.0.
const CUDA_VERSION: usize = 13_000;

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    VERSION
}

/// The version of CUDA's runtime that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetCudartVersion() -> usize {
    CUDA_VERSION
}
