//! The quantized tensors of `Device::Cuda`: Isobit with the feature `cuda`, else none. This file is
//! part of Isobit; `cargo xtask candle` puts it into candle-core.

// Each of the two files names items of the module above this one.
#[allow(unused_imports)]
use super::*;

#[cfg(feature = "cuda")]
#[path = "isobit.rs"]
mod chosen;
#[cfg(not(feature = "cuda"))]
#[path = "no_cuda.rs"]
mod chosen;

pub use chosen::*;
