//! The backend of `Device::Cuda`: Isobit with the feature `cuda`, else none. This file is part of
//! Isobit; `cargo xtask candle` puts it into candle-core.

#[cfg(feature = "cuda")]
#[path = "isobit_backend/mod.rs"]
mod chosen;
#[cfg(not(feature = "cuda"))]
#[path = "no_cuda_backend.rs"]
mod chosen;

pub use chosen::*;
